//! Answers of a file as `foldsym-lookup` gives them.

use super::model_answers::{ModelAnswer, ModelFrame};
use foldsym_lookup::{FileId, Frames, FunctionId, ImageAddr, Lookup, NameId, SymbolFile};

pub fn look_up(file: &SymbolFile<'_>, address: u64) -> ModelAnswer {
    let mut frames = Frames::new();
    let answer = match file.lookup(ImageAddr(address), &mut frames).unwrap() {
        Lookup::NotFound(_) => return ModelAnswer::Nothing,
        Lookup::Found(answer) => answer,
    };
    let first = listed(file, &frames);
    if answer.group.is_none() {
        return match answer.padding {
            true => ModelAnswer::Padding(first.into_iter().next().unwrap()),
            false => ModelAnswer::Function(first, aliases(file, answer.function), answer.reason),
        };
    }
    let mut members = Vec::new();
    for index in 0..answer.member_count() {
        let member = file.member_frames(&answer, index, &mut frames).unwrap();
        members.push((member.how as u8, listed(file, &frames), aliases(file, member.function)));
    }
    assert_eq!(members[0].1, first);
    match answer.padding {
        true => ModelAnswer::GroupPadding(members.into_iter().map(|member| member.1[0].clone()).collect()),
        false => ModelAnswer::Group(members),
    }
}

fn listed(file: &SymbolFile<'_>, frames: &Frames) -> Vec<ModelFrame> {
    let path = |id: Option<FileId>| id.map_or(Vec::new(), |id| text(|out| file.write_path(id, out)));
    let frames = file.frames(frames).map(|frame| {
        let frame = frame.unwrap();
        ModelFrame {
            name: frame.name.map_or(Vec::new(), |id| name(file, id)),
            file: path(frame.file),
            line: frame.line,
            column: frame.column as u16,
            declared: (path(frame.start_file), frame.start_line),
        }
    });
    frames.collect()
}

fn aliases(file: &SymbolFile<'_>, function: FunctionId) -> Vec<Vec<u8>> {
    let function = file.records().function(function).unwrap();
    file.records().aliases(&function).map(|alias| name(file, alias.unwrap())).collect()
}

pub fn name(file: &SymbolFile<'_>, id: NameId) -> Vec<u8> {
    text(|out| file.write_name(id, out))
}

fn text(write: impl FnOnce(&mut [u8]) -> Option<usize>) -> Vec<u8> {
    let mut out = vec![0; 256];
    let len = write(&mut out).unwrap();
    out.truncate(len);
    out
}
