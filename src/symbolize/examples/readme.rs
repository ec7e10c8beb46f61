//! The example of the repository's front page: `cargo test` compiles it, and compares it with the page.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The lines from here to the last but one are on the page.
    use foldsym_symbolize::{Module, Modules, Stack, StackFrame, Symbolizer};

    let symbolizer = Symbolizer::builder().search(["mail.fsym"]).build()?;
    let modules = Modules::new(vec![Module::new("mail").at(0x200000)]);
    let stack = Stack::new(
        &modules,
        vec![StackFrame::exact(0x201650), StackFrame::returns_to(0x201666), StackFrame::returns_to(0x201693)],
    );
    for frame in symbolizer.symbolize(&stack) {
        for function in &frame.functions {
            println!("{} at {}:{}", function.function, function.file, function.line);
        }
    }
    Ok(())
}
