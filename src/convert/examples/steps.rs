//! tmp
use foldsym_convert::*;
fn main() {
    let path = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    let t = std::time::Instant::now();
    let files = open::Files::default();
    let options = open::OpenOptions::default();
    let mut image = open::open_image(&files, &path, &options).unwrap();
    let package = open::open_package(&files, &options, &mut image).unwrap();
    let split = read::SplitFiles { files: &files, options: &options, package };
    eprintln!("open {:?} symbols {}", t.elapsed(), image.symbols.len());
    let t = std::time::Instant::now();
    let read = read::read(&image, &split, Default::default(), &|_| ());
    eprintln!("read {:?}", t.elapsed());
    let u = &read.units;
    eprintln!("units {} functions {} rows {} scopes {} edges {} origins {} names {} bare {} pieces {}", u.len(), u.iter().map(|u| u.functions.len()).sum::<usize>(), u.iter().map(|u| u.rows.len()).sum::<usize>(), u.iter().map(|u| u.scopes.len()).sum::<usize>(), u.iter().map(|u| u.edges.len()).sum::<usize>(), u.iter().map(|u| u.origins.len()).sum::<usize>(), u.iter().map(|u| u.names.len()).sum::<usize>(), u.iter().map(|u| u.bare.len()).sum::<usize>(), u.iter().map(|u| u.pieces.len()).sum::<usize>());
    for (k, s) in read.diagnostics.iter() { eprintln!("  {} {} first {:#x} {}", k.name(), s.count, s.first, s.example); }
    let t = std::time::Instant::now();
    let r = resolve::resolve(&image, read.units, &Default::default());
    eprintln!("resolve {:?}", t.elapsed());
    for (k, s) in r.diagnostics.iter() { eprintln!("  {} {} first {:#x} {}", k.name(), s.count, s.first, s.example); }
    let p = &r.program;
    eprintln!("names {} files {} origins {} edges {} functions {} pieces {} groups {}", p.names.len(), p.files.len(), p.origins.len(), p.edges.len(), p.functions.len(), p.pieces.len(), p.groups.len());
    println!("{}", std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
