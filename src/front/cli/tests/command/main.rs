//! Tests of the command. They are one program, since each program of tests is linked with the whole converter.

#[path = "../common/mod.rs"]
mod common;

mod bad_store;
mod blocks;
mod build_trees;
mod cfi;
mod clients;
mod companions;
mod convert;
mod data;
mod debug_files;
mod debuggers;
mod doors;
mod engine;
mod export;
mod faults;
mod files;
mod filter;
mod folded;
mod folders;
mod gpu;
mod greedy;
mod groups;
mod help;
mod inputs;
mod keys;
mod levels;
mod lookup;
mod losses;
mod markup;
mod messages;
mod objects;
mod process;
mod regular;
mod relocatable;
mod search;
mod stack;
mod store;
mod symbolize;
mod symbolizer;
mod unwind;
mod usage;
mod wave;
mod work;
