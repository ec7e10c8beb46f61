//! The arguments of `foldsym import`: those of `convert` that mean something for a symbol file.

use std::path::PathBuf;

use clap::Args;
use glob::Pattern as Glob;

use super::convert::{CHECKS, CONTENTS, Convert, FOLDERS, Reading, STORES, glob, text_pair, thread_count};

#[derive(Args)]
#[command(disable_version_flag = true)] // --version is the program's
#[command(after_help = "\
A Breakpad file does not show which functions the linker folded, so no answer is `unique`: each is `likely` with a reason, or \
`ambiguous` where several names are at one address. Addresses count from the beginning of the program.
Lines that cannot be read are left out, with a warning; after 100 of them the file is refused.

Examples:
  dump_syms app.pdb --inlines > app.sym
  foldsym import app.sym                                writes app.sym.fsym
  foldsym import server/ --store /srv/symbols --unwind    a symbol server's files")]
pub(crate) struct Import {
    /// Breakpad symbol files; folders, of which these files are taken; @FILE lists some, one a line (@- on standard input)
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// File to write, of a single input (default: INPUT.fsym); - is standard output
    #[arg(short, long, value_name = "OUT.fsym", conflicts_with = "out_dir")]
    output: Option<PathBuf>,
    /// Folder to write NAME.fsym into, for each input
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Threads to use; 0 takes all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count, hide_short_help = true)]
    threads: usize,
    /// Folder or address of a store (see `foldsym store --help`): publishes each file there under the build id of its program, else under the
    /// identifier in its first line. A file that was converted from the program itself stays
    #[arg(long, value_name = "STORE", conflicts_with_all = ["output", "out_dir", "dry_run"], help_heading = STORES)]
    store: Option<String>,
    /// Also imports what the store has all of, and replaces its files, unless the new ones have less
    #[arg(long, requires = "store", help_heading = STORES, hide_short_help = true)]
    force: bool,
    /// Notes in the store that the programs belong to a release of this product; `store gc --keep-releases` counts releases
    #[arg(long, value_name = "P", requires = "store", help_heading = STORES, hide_short_help = true)]
    product: Option<String>,
    /// Version of the product
    #[arg(long, value_name = "V", requires = "product", help_heading = STORES, hide_short_help = true)]
    version: Option<String>,
    /// Revision of the sources
    #[arg(long, value_name = "R", requires = "product", help_heading = STORES, hide_short_help = true)]
    revision: Option<String>,
    /// Imports only those files of a folder that match the pattern: by name, or, if it has a /, by path below the folder
    #[arg(long, value_name = "GLOB", value_parser = glob, help_heading = FOLDERS, hide_short_help = true)]
    include: Vec<Glob>,
    /// Leaves out files and folders that match the pattern
    #[arg(long, value_name = "GLOB", value_parser = glob, help_heading = FOLDERS, hide_short_help = true)]
    exclude: Vec<Glob>,
    /// Prints what would be imported into what, and writes nothing
    #[arg(long, help_heading = FOLDERS)]
    dry_run: bool,
    /// Keeps the rows of STACK CFI, for walking frames in a crash handler or a reader of crash reports
    #[arg(long, help_heading = CONTENTS)]
    unwind: bool,
    /// Writes an index of all names, which makes `find` faster and the file larger
    #[arg(long, help_heading = CONTENTS)]
    name_index: bool,
    /// Replaces OLD at the beginning of stored source paths by NEW
    #[arg(long, value_name = "OLD=NEW", value_parser = text_pair, help_heading = CONTENTS, hide_short_help = true)]
    remap_path: Vec<(String, String)>,
    /// Writes a report of what was kept, repaired and skipped to F.json; - is standard output
    #[arg(long, value_name = "F.json", help_heading = CHECKS)]
    report: Option<PathBuf>,
    /// Exit code 4 if a part of a file cannot be read; what can be read is written anyway
    #[arg(long, help_heading = CHECKS)]
    strict: bool,
    /// No progress bar and no summary; warnings are printed
    #[arg(long, short, help_heading = CHECKS)]
    quiet: bool,
}

impl Import {
    /// The same as arguments of `convert`.
    pub(crate) fn conversion(&self) -> Convert {
        Convert {
            inputs: self.inputs.clone(),
            output: self.output.clone(),
            out_dir: self.out_dir.clone(),
            store: self.store.clone(),
            force: self.force,
            product: self.product.clone(),
            version: self.version.clone(),
            revision: self.revision.clone(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            objects: false,
            dry_run: self.dry_run,
            reading: Reading {
                threads: self.threads,
                arch: None,
                target: None,
                dwp: None,
                dwo_dir: Vec::new(),
                debug_dir: Vec::new(),
                debug_file: None,
                map_prefix: Vec::new(),
                remap_path: self.remap_path.clone(),
            },
            columns: false,
            demangled: false,
            locations: false,
            unwind: self.unwind,
            imports: false,
            data: false,
            name_index: self.name_index,
            report: self.report.clone(),
            strict: self.strict,
            require_debug_info: false,
            memory: None,
            quiet: self.quiet,
            import: true,
        }
    }
}
