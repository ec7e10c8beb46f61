//! Converts damaged and hostile programs: an error in one line, or a file that says what is missing.

mod budgets;
mod caps;
mod certainty;
mod classes;
mod clones;
mod damage;
mod doubt;
mod folds;
mod harness;
mod inputs;
mod instances;
mod limits;
mod lines;
mod losses;
mod made;
mod named_sequences;
mod names;
mod objects;
mod parts;
mod products;
mod repeated;
mod rewritten;
mod shared_lines;
mod shared_texts;
mod strays;
mod symbols;
mod tails;
mod whole_sections;

use foldsym_testkit::dwarf as build;
