//! Reads a file back the slow way, from `schema/README.md`, without sharing code with the writer.

use super::model_answers::{Keys, ModelAnswer, ModelFrame, nameless};
use foldsym_format::names::Names;
use foldsym_format::starts::Start;
use foldsym_format::{DirectoryEntry, Header, Reason, SectionId, Starts, Table, bits, varint};

pub struct ReadBack<'d> {
    data: &'d [u8],
    header: Header,
}

/// The stored row that holds at an offset.
struct StoredRow {
    scope: u64,
    /// `None`: no line known; else relative to the origin's.
    line: Option<i64>,
    file: u64,
    column: u64,
}

impl<'d> ReadBack<'d> {
    pub fn open(data: &'d [u8]) -> Self {
        let header = Header::parse(data).unwrap();
        assert_eq!(header.file_len, data.len() as u64);
        let file = ReadBack { data, header };
        let mut head_at = 64 + 32 * header.section_count as usize;
        let mut end = 64 + u64::from(header.directory_len);
        for i in 0..header.section_count {
            let entry = file.entry(i);
            assert!(entry.offset.is_multiple_of(8) && entry.offset - end < 8);
            end = entry.offset + entry.len;
            let bytes = &data[entry.offset as usize..end as usize];
            assert_eq!(entry.checksum, foldsym_format::checksum::crc32(bytes));
            let head = &data[head_at..][..entry.head_len as usize];
            assert_eq!(head, entry.id.head(bytes));
            head_at += head.len();
            let columns = entry.id.column_count(header.features);
            if columns > 0 {
                Table::open(bytes, columns).unwrap().verify().unwrap();
            }
        }
        assert_eq!(end, data.len() as u64);
        assert_eq!(head_at, 64 + header.directory_len as usize);
        file
    }

    fn entry(&self, i: u32) -> DirectoryEntry {
        DirectoryEntry::parse(&self.data[64..], i as usize).unwrap()
    }

    fn section(&self, id: SectionId) -> &'d [u8] {
        let entry = (0..self.header.section_count).map(|i| self.entry(i)).find(|entry| entry.id == id);
        entry.map_or(&[], |entry| &self.data[entry.offset as usize..][..entry.len as usize])
    }

    fn record<const K: usize>(&self, id: SectionId, index: i64) -> Option<[i64; K]> {
        let table = Table::open(self.section(id), id.column_count(self.header.features)).ok()?;
        let mut record: [i64; K] = table.record(u32::try_from(index).ok()?).ok()?;
        if id == SectionId::ORIGINS {
            // Section 3: both columns are stored as distances from a line.
            record[0] += index;
            record[3] += 2 * index;
        }
        Some(record)
    }

    fn string(&self, id: SectionId, index: i64) -> Vec<u8> {
        let names = Names::open(self.section(id)).unwrap();
        let mut out = vec![0; 256];
        let len = names.write(index as u32, &mut out).unwrap();
        out.truncate(len);
        out
    }

    /// 0 none, else 1 + file.
    fn file(&self, code: i64) -> Vec<u8> {
        if code == 0 { Vec::new() } else { self.string(SectionId::FILES, code - 1) }
    }

    pub fn answer(&self, address: u64) -> ModelAnswer {
        let key = address as i64 - self.header.image_base as i64;
        let pieces = Table::open(self.section(SectionId::PIECES), 6).unwrap();
        let starts = Starts::open(self.section(SectionId::STARTS)).unwrap();
        starts.verify().unwrap();
        let found = u64::try_from(key).ok().and_then(|key| starts.find(key).unwrap());
        let Some(Start { piece, start, next }) = found else { return ModelAnswer::Nothing };
        let [gap, pad, _skip, owner, rows, name] = pieces.record(piece).unwrap();
        let body = (next - start) as i64 - gap - pad;
        let offset = key - start as i64;
        if offset >= body + pad {
            return ModelAnswer::Nothing;
        }
        if owner % 2 == 0 {
            let mut frames = self.frames(owner / 2, rows, name, offset as u64);
            if offset >= body {
                return ModelAnswer::Padding(nameless(frames.swap_remove(0)));
            }
            let functions = Table::open(self.section(SectionId::FUNCTIONS), 5).unwrap();
            let [_, _, flags, ..] = functions.record::<5>((owner / 2) as u32).unwrap();
            return ModelAnswer::Function(
                frames,
                self.aliases(owner / 2),
                Reason::from_code(flags as u64 >> 1),
            );
        }
        let groups = Table::open(self.section(SectionId::GROUPS), 1).unwrap();
        let members = Table::open(self.section(SectionId::MEMBERS), 4).unwrap();
        let [first] = groups.record((owner / 2) as u32).unwrap();
        let end = groups.value((owner / 2) as u32 + 1, 0).unwrap_or(i64::from(members.len()));
        assert!(end - first <= i64::from(self.header.max_group));
        let members = (first..end).map(|member| {
            let [function, rows, how, name] = members.record(member as u32).unwrap();
            (how as u8, self.frames(function, rows, name, offset as u64), self.aliases(function))
        });
        if offset < body {
            return ModelAnswer::Group(members.collect());
        }
        ModelAnswer::GroupPadding(members.map(|mut m| nameless(m.1.swap_remove(0))).collect())
    }

    /// The own name of a function.
    fn function_name(&self, function: i64) -> Vec<u8> {
        let [origin, _, _, name, _] = self.record(SectionId::FUNCTIONS, function).unwrap();
        let [origin_name, ..]: [i64; 4] = self.record(SectionId::ORIGINS, origin).unwrap();
        self.string(SectionId::NAMES, origin_name + name)
    }

    /// The records of CALLS and TAILS, in order, with functions by name.
    pub fn keys(&self) -> Keys {
        let optional = |code: i64| code.checked_sub(1).filter(|id| *id >= 0).map(|id| self.function_name(id));
        let calls = (0..).map_while(|i| self.record::<4>(SectionId::CALLS, i));
        let tails = (0..).map_while(|i| self.record::<2>(SectionId::TAILS, i));
        let (calls, tails): (Vec<_>, Vec<_>) = (calls.collect(), tails.collect());
        assert!(calls.windows(2).all(|w| (w[0][0], w[0][1]) < (w[1][0], w[1][1])), "{calls:?}");
        assert!(tails.windows(2).all(|w| w[0] < w[1]), "{tails:?}");
        let call = |[address, caller, callee, how]: [i64; 4]| {
            let address = (address as u64).wrapping_add(self.header.image_base);
            (address, optional(caller), self.function_name(callee), how)
        };
        let tail = |[function, target]: [i64; 2]| (self.function_name(function), optional(target));
        Keys { calls: calls.into_iter().map(call).collect(), tails: tails.into_iter().map(tail).collect() }
            .sorted()
    }

    fn aliases(&self, function: i64) -> Vec<Vec<u8>> {
        let [.., aliases]: [i64; 5] = self.record(SectionId::FUNCTIONS, function).unwrap();
        let mut out = Vec::new();
        let mut at = aliases - 1;
        while at >= 0 {
            let [name, last] = self.record(SectionId::ALIASES, at).unwrap();
            out.push(self.string(SectionId::NAMES, name));
            at = if last == 1 { -1 } else { at + 1 };
        }
        out
    }

    fn frames(&self, function: i64, rows: i64, name: i64, offset: u64) -> Vec<ModelFrame> {
        let [origin, scopes, _, own_name, _] = self.record(SectionId::FUNCTIONS, function).unwrap();
        let frame = |origin: i64, (file, line, column): (i64, i64, i64)| {
            let [name, declared, declared_line, _] = self.record(SectionId::ORIGINS, origin).unwrap();
            ModelFrame {
                name: self.string(SectionId::NAMES, name),
                file: self.file(file),
                line: u32::try_from(line).unwrap(),
                column: column as u16,
                declared: (self.file(declared), declared_line as u32),
            }
        };
        let mut out = Vec::new();
        if rows == 0 {
            out.push(frame(origin, (0, 0, 0)));
        } else {
            let row = self.row(rows as usize, offset >> self.header.unit_log2);
            // From the root to the scope: for each node its origin and the edge to it.
            let mut path = Vec::new();
            let mut node = row.scope;
            while node != 0 {
                let (parent, edge) = self.scope(scopes as usize, node);
                path.push(edge);
                node = parent;
            }
            assert!(path.len() as u32 <= self.header.max_depth);
            let (mut origins, mut calls) = (vec![origin], Vec::new());
            for &edge in path.iter().rev() {
                let caller = *origins.last().unwrap();
                let [_, file, line, first] = self.record(SectionId::ORIGINS, caller).unwrap();
                let index = first + edge as i64;
                let [callee, call_line, code] = self.record(SectionId::EDGES, index).unwrap();
                let column = if self.header.features == 1 {
                    self.record::<4>(SectionId::EDGES, index).unwrap()[3]
                } else {
                    0
                };
                calls.push((relative(code, file), call_line + line, column));
                origins.push(callee);
            }
            let [_, file, line, _] = self.record(SectionId::ORIGINS, *origins.last().unwrap()).unwrap();
            let line = row.line.map_or(0, |relative| relative + line);
            calls.push((relative(row.file as i64, file), line, row.column as i64));
            out.extend(origins.iter().zip(calls).rev().map(|(&origin, at)| frame(origin, at)));
        }
        if name != 0 {
            out.last_mut().unwrap().name = self.string(SectionId::NAMES, name - 1);
        } else if own_name != 0 {
            let [origin_name, ..]: [i64; 4] = self.record(SectionId::ORIGINS, origin).unwrap();
            out.last_mut().unwrap().name = self.string(SectionId::NAMES, origin_name + own_name);
        }
        out
    }

    fn scope(&self, at: usize, node: u64) -> (u64, u64) {
        let data = self.section(SectionId::SCOPES);
        let (count, mut at) = varint::read(data, at).unwrap();
        assert!((1..=count).contains(&node));
        let (block, i) = ((node - 1) / 64, (node - 1) % 64);
        if count > 64 {
            let width = u32::from(data[at]);
            let places = count.div_ceil(64) - 1;
            let first = at + 1 + (places * u64::from(width)).div_ceil(8) as usize;
            let place = match block {
                0 => 0,
                _ => bits::read(&data[at + 1..], (block - 1) * u64::from(width), width).unwrap(),
            };
            at = first + place as usize;
        }
        let widths = u16::from_le_bytes([data[at], data[at + 1]]);
        let (parent, edge) = (u32::from(widths & 31), u32::from(widths >> 5 & 31));
        let bit = i * u64::from(parent + edge);
        let distance = bits::read(&data[at + 2..], bit, parent).unwrap();
        let edge = bits::read(&data[at + 2..], bit + u64::from(parent), edge).unwrap();
        (node - 1 - distance, edge)
    }

    fn row(&self, at: usize, offset: u64) -> StoredRow {
        let data = self.section(SectionId::ROWS);
        let (head, mut at) = varint::read(data, at).unwrap();
        let (count, many) = (head >> 1, head & 1 == 1);
        assert_eq!(many, count > 32);
        let (mut start, mut n) = (0, count);
        if many {
            let (start_width, place_width) = (u32::from(data[at]), u32::from(data[at + 1]));
            let blocks = count.div_ceil(32);
            let entry = u64::from(start_width + place_width);
            let first = at + 2 + ((blocks - 1) * entry).div_ceil(8) as usize;
            let directory = &data[at + 2..];
            let start_of = |block: u64| match block {
                0 => 0,
                _ => bits::read(directory, (block - 1) * entry, start_width).unwrap(),
            };
            let block = (0..blocks).rev().find(|&block| start_of(block) <= offset).unwrap();
            start = start_of(block);
            let bit = block.saturating_sub(1) * entry + u64::from(start_width);
            at = first
                + if block == 0 { 0 } else { bits::read(directory, bit, place_width).unwrap() as usize };
            n = 32.min(count - block * 32);
        }
        Block::parse(data, at, n).row(offset - start)
    }
}

fn relative(code: i64, origin_file: i64) -> i64 {
    if code == 0 { origin_file } else { code - 1 }
}

struct Block<'d> {
    data: &'d [u8],
    n: u64,
    low_width: u32,
    /// Offsets of all rows, counted from that of the first.
    offsets: Vec<u64>,
    scopes: Vec<u64>,
    /// Line codes.
    lines: Vec<u64>,
    /// Columns and files: width and first bit.
    columns: [(u32, u64); 2],
    scope_base: u64,
    line_base: i64,
    column_base: u64,
    file_base: u64,
    /// By row: it has a file of its own; empty if none has.
    differs: Vec<u64>,
    shared: bool,
}

impl<'d> Block<'d> {
    // Long because it follows the specification of a block of rows field by field.
    fn parse(data: &'d [u8], block: usize, n: u64) -> Self {
        let word = u32::from_le_bytes(data[block..block + 4].try_into().unwrap());
        let mut at = block + 4;
        let mut next = || {
            at += 1;
            data[at - 1]
        };
        let extension = if word >> 16 & 1 == 1 { next() } else { 0 };
        let mut widths = [0, 4, 8, 12].map(|shift| word >> shift & 15);
        let wide = extension & 8 != 0;
        if wide {
            assert_eq!(word, 1 << 16);
            widths = widths.map(|_| u32::from(next()));
        }
        let [low_width, scope_width, line_width, more_width] = widths;
        let read = |at: &mut usize| {
            let (value, end) = varint::read(data, *at).unwrap();
            *at = end;
            value
        };
        let line_base = varint::unzigzag(if wide { read(&mut at) } else { u64::from(word >> 17) });
        let base = |at: &mut usize| match wide {
            true => read(at),
            false => {
                *at += 2;
                u64::from(u16::from_le_bytes(data[*at - 2..*at].try_into().unwrap()))
            }
        };
        let scope_base = if extension & 16 != 0 { base(&mut at) } else { 0 };
        let optional = |set: bool, at: &mut usize| {
            if !set {
                return (0, 0);
            }
            *at += 1;
            (u32::from(data[*at - 1]), base(at))
        };
        let (file_width, file_base) = optional(extension & 1 != 0, &mut at);
        let (column_width, column_base) = optional(extension & 2 != 0, &mut at);
        let mut source = None;
        if extension & 4 != 0 {
            source = Some(block - read(&mut at) as usize);
        }
        let mut bit = at as u64 * 8;
        let mut list = |width: u32, count: u64| {
            let first = bit;
            bit += count * u64::from(width);
            (0..count).map(|i| bits::read(data, first + i * u64::from(width), width).unwrap()).collect()
        };
        let changes: Vec<u64> = list(u32::from(scope_width > 0), n - 1);
        let long: Vec<u64> = list(u32::from(more_width > 0), n);
        let differs: Vec<u64> = list(1, if extension & 1 != 0 { n } else { 0 });
        let lows: Vec<u64> = list(low_width, if source.is_some() { 0 } else { n - 1 });
        let mut lines: Vec<u64> = list(line_width, n);
        let mut scopes: Vec<u64> = list(scope_width, 1);
        for &change in &changes {
            let next = if change == 1 { list(scope_width, 1)[0] } else { scopes[scopes.len() - 1] };
            scopes.push(next);
        }
        for (line, _) in lines.iter_mut().zip(&long).filter(|(_, long)| **long == 1) {
            let part = list(more_width, 1)[0];
            assert_ne!(part, 0);
            *line |= part << line_width;
        }
        let mut column = |width: u32| {
            bit += n * u64::from(width);
            (width, bit - n * u64::from(width))
        };
        let columns = column(column_width);
        let files = (file_width, bit);
        let mut block = Block {
            data,
            n,
            low_width,
            offsets: vec![0],
            scopes,
            lines,
            columns: [columns, files],
            scope_base,
            line_base,
            column_base,
            file_base,
            differs,
            shared: source.is_some(),
        };
        if let Some(source) = source {
            let other = Block::parse(data, source, n);
            assert!(other.low_width == low_width && !other.shared);
            block.offsets = other.offsets;
            return block;
        }
        // One bit at a time: a 0 is a step of the high part, a 1 a row.
        let (mut at, mut high) = (bit + block.differing(n) * u64::from(file_width), 0);
        let first = at;
        while (block.offsets.len() as u64) < n {
            if data[at as usize / 8] >> (at % 8) & 1 == 0 {
                high += 1;
            } else {
                let row = block.offsets.len() - 1;
                block.offsets.push(high << low_width | lows[row]);
            }
            at += 1;
        }
        assert!(at - first <= 64);
        block
    }

    fn differs(&self, row: u64) -> bool {
        self.differs.get(row as usize) == Some(&1)
    }

    /// How many of the first rows have files of their own.
    fn differing(&self, rows: u64) -> u64 {
        (0..rows).filter(|&row| self.differs(row)).count() as u64
    }

    fn get(&self, column: usize, row: u64) -> u64 {
        let (width, bit) = self.columns[column];
        bits::read(self.data, bit + row * u64::from(width), width).unwrap()
    }

    fn row(&self, offset: u64) -> StoredRow {
        assert!(self.offsets.is_sorted_by(|a, b| a < b));
        let row = (0..self.n).rev().find(|&row| self.offsets[row as usize] <= offset).unwrap_or(0);
        let line = self.lines[row as usize];
        let file = if self.differs(row) {
            let stored = self.file_base + self.get(1, self.differing(row));
            assert_ne!(stored, 0);
            stored
        } else {
            0
        };
        StoredRow {
            scope: self.scope_base + self.scopes[row as usize],
            line: (line != 0).then(|| self.line_base + line as i64 - 1),
            file,
            column: self.column_base + self.get(0, row),
        }
    }
}
