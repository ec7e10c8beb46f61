//! Writes small `.fsym` files for the reader's tests, from the text of `schema/README.md` alone.
//!
//! It shares no code with the project's writer or reader, so that both can be wrong only where the text is. It writes what the format
//! allows, not what is small: names are one token each.
//!
//! Long because it writes every section of the format.

pub mod broken;
pub mod folded;
pub mod golden;
pub mod model;

/// Numbers that look random: the same ones every time (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ value >> 31) % limit.max(1)
    }
}

/// Bits, least significant first.
#[derive(Default)]
pub struct BitWriter {
    pub bytes: Vec<u8>,
    bit: u32,
}

impl BitWriter {
    pub fn put(&mut self, value: u64, width: u32) {
        assert!(width == 64 || value >> width == 0, "{value} in {width} bits");
        for i in 0..width {
            if self.bit == 0 {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= ((value >> i & 1) as u8) << self.bit;
            self.bit = (self.bit + 1) % 8;
        }
    }

    pub fn align(&mut self) {
        self.bit = 0;
    }
}

pub fn width_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// CRC-32 of zlib, a bit at a time.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

/// Section 4.
pub fn table<const K: usize>(records: &[[i64; K]], block_log2: u8) -> Vec<u8> {
    let block_len = 1usize << block_log2;
    let blocks = records.len().div_ceil(block_len);
    let mut out = vec![];
    out.extend((records.len() as u32).to_le_bytes());
    out.extend([K as u8, block_log2, 0, 0]);
    let mut offset = 8 + blocks * (K + 2) * 8;
    let mut data = vec![];
    for block in records.chunks(block_len) {
        let mut columns = vec![];
        for k in 0..K {
            let column: Vec<i64> = block.iter().map(|record| record[k]).collect();
            let base = *column.iter().min().unwrap();
            let width = column.iter().map(|v| width_of((v - base) as u64)).max().unwrap();
            columns.push((base, width, column));
        }
        let bits: u32 = columns.iter().map(|column| column.1).sum();
        out.extend((offset as u64 | u64::from(bits) << 48).to_le_bytes());
        out.extend((0..8).map(|k| columns.get(k).map_or(0, |column| column.1 as u8)));
        columns.iter().for_each(|(base, ..)| out.extend(base.to_le_bytes()));
        let mut packed = BitWriter::default();
        for i in 0..block.len() {
            for (base, width, values) in &columns {
                packed.put((values[i] - base) as u64, *width);
            }
        }
        offset += packed.bytes.len();
        data.extend(packed.bytes);
    }
    out.extend(data);
    out.extend([0; 8]);
    out
}

/// A row as section 5 stores it: the line relative to the declaration of its scope's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRow {
    /// In units.
    pub offset: u64,
    pub scope: u64,
    pub line: Option<i64>,
    pub file: u64,
    pub column: u64,
}

/// The part `high` of a block with these offsets, a bit each.
fn high_bits(offsets: &[u64], low_width: u32) -> Vec<u64> {
    let places: Vec<u64> = (0..).zip(offsets).map(|(row, offset)| (offset >> low_width) + row).collect();
    let end = places.last().map_or(0, |last| last + 1);
    // No writer takes a width for which they are longer.
    if end > 64 {
        return vec![0; (1 << 20) + end.min(1 << 20) as usize];
    }
    (0..end).map(|bit| u64::from(places.contains(&bit))).collect()
}

/// Appends a row record to the section and returns its offset. `share`: blocks that may share offsets do.
// Long because it writes one record, field after field, as the specification lists them.
pub fn rows_record(section: &mut Vec<u8>, rows: &[RawRow], share: bool) -> u64 {
    let at = section.len();
    varint(section, (rows.len() as u64) << 1 | u64::from(rows.len() > 32));
    let mut blocks: Vec<u8> = vec![];
    let mut places = vec![];
    // Place, number of rows and offsets of each block that holds its own.
    let mut held: Vec<(usize, Vec<u64>)> = vec![];
    for block in rows.chunks(32) {
        let place = blocks.len();
        places.push((block[0].offset, place as u64));
        let offsets: Vec<u64> = block[1..].iter().map(|row| row.offset - block[0].offset).collect();
        let width = |values: &mut dyn Iterator<Item = u64>| values.map(width_of).max().unwrap_or(0);
        let low_width = (0..32)
            .min_by_key(|&width| offsets.len() * width as usize + high_bits(&offsets, width).len())
            .unwrap();
        let scope_base = block.iter().map(|row| row.scope).min().unwrap();
        let line_base = block.iter().filter_map(|row| row.line).min().unwrap_or(0);
        let lines: Vec<u64> =
            block.iter().map(|row| row.line.map_or(0, |line| (line - line_base + 1) as u64)).collect();
        let scope_width = width(&mut block.iter().map(|row| row.scope - scope_base));
        // The widest low part that leaves a high part to at most an eighth of the rows: not what another
        // writer would choose, and no less sound.
        let whole_width = width(&mut lines.iter().copied());
        let line_width = (0..=whole_width)
            .find(|&low| lines.iter().filter(|&&line| line >> low != 0).count() * 8 <= lines.len())
            .unwrap();
        let more_width = whole_width - line_width;
        let back = held.iter().find(|(_, old)| share && *old == offsets).map(|(old, _)| place - old);
        let has = |value: fn(&RawRow) -> u64| block.iter().any(|row| value(row) != 0);
        let (files, columns) = (has(|row| row.file), has(|row| row.column));
        let own_files: Vec<u64> = block.iter().map(|row| row.file).filter(|&file| file != 0).collect();
        let widths = [low_width, scope_width, line_width, more_width];
        let least = |values: &mut dyn Iterator<Item = u64>| values.min().unwrap_or(0) >> 16 != 0;
        let wide = widths.iter().any(|&width| width > 15)
            || zigzag(line_base) >= 1 << 15
            || scope_base >> 16 != 0
            || least(&mut own_files.iter().copied())
            || least(&mut block.iter().map(|row| row.column));
        let flags = [files, columns, back.is_some(), wide, scope_base != 0];
        let flags = flags.iter().zip(0..).map(|(&flag, bit)| u8::from(flag) << bit).sum::<u8>();
        let mut word = u32::from(flags != 0) << 16;
        if !wide {
            word |= widths.iter().zip(0..).map(|(width, nth)| width << (4 * nth)).sum::<u32>();
            word |= (zigzag(line_base) as u32) << 17;
        }
        blocks.extend(word.to_le_bytes());
        if flags != 0 {
            blocks.push(flags);
        }
        if wide {
            blocks.extend(widths.map(|width| width as u8));
            varint(&mut blocks, zigzag(line_base));
        }
        let put_base = |blocks: &mut Vec<u8>, base: u64| match wide {
            true => varint(blocks, base),
            false => blocks.extend((base as u16).to_le_bytes()),
        };
        if scope_base != 0 {
            put_base(&mut blocks, scope_base);
        }
        // Base, width and what is stored of each.
        let mut above_least = |values: Vec<u64>| {
            let base = values.iter().copied().min().unwrap_or(0);
            let stored: Vec<u64> = values.iter().map(|value| value - base).collect();
            let width = width(&mut stored.iter().copied());
            blocks.push(width as u8);
            put_base(&mut blocks, base);
            (width, stored)
        };
        let own_files = files.then(|| above_least(own_files));
        let columns = columns.then(|| above_least(block.iter().map(|row| row.column).collect()));
        let mut packed = BitWriter::default();
        let changes: Vec<bool> = block.windows(2).map(|rows| rows[0].scope != rows[1].scope).collect();
        if scope_width > 0 {
            changes.iter().for_each(|&change| packed.put(change.into(), 1));
        }
        let parts: Vec<u64> = lines.iter().map(|line| line >> line_width).collect();
        if more_width > 0 {
            parts.iter().for_each(|&part| packed.put(u64::from(part != 0), 1));
        }
        if files {
            block.iter().for_each(|row| packed.put(u64::from(row.file != 0), 1));
        }
        match back {
            Some(back) => varint(&mut blocks, back as u64),
            None => offsets.iter().for_each(|&offset| packed.put(offset % (1 << low_width), low_width)),
        }
        lines.iter().for_each(|&line| packed.put(line % (1 << line_width), line_width));
        if scope_width > 0 {
            packed.put(block[0].scope - scope_base, scope_width);
            for (row, _) in block[1..].iter().zip(&changes).filter(|(_, change)| **change) {
                packed.put(row.scope - scope_base, scope_width);
            }
        }
        parts.iter().filter(|&&part| part != 0).for_each(|&part| packed.put(part, more_width));
        for (width, stored) in columns.into_iter().chain(own_files) {
            stored.iter().for_each(|&value| packed.put(value, width));
        }
        if back.is_none() {
            high_bits(&offsets, low_width).iter().for_each(|&bit| packed.put(bit, 1));
            held.push((place, offsets));
        }
        blocks.extend(packed.bytes);
    }
    if rows.len() > 32 {
        let start_width = width_of(places.last().unwrap().0);
        let place_width = width_of(places.last().unwrap().1);
        section.extend([start_width as u8, place_width as u8]);
        let mut packed = BitWriter::default();
        for &(start, place) in &places[1..] {
            packed.put(start, start_width);
            packed.put(place, place_width);
        }
        section.extend(packed.bytes);
    }
    section.extend(blocks);
    at as u64
}

/// Appends a scope record (section 6) of `(parent, edge)` for nodes 1, 2, ... and returns its offset.
pub fn scopes_record(section: &mut Vec<u8>, nodes: &[(u32, u32)]) -> u64 {
    let at = section.len();
    varint(section, nodes.len() as u64);
    let mut blocks: Vec<u8> = vec![];
    let mut places = vec![];
    for (b, block) in nodes.chunks(64).enumerate() {
        places.push(blocks.len() as u64);
        let ups: Vec<u64> = (1 + b as u64 * 64..)
            .zip(block)
            .map(|(node, (parent, _))| node - u64::from(*parent) - 1)
            .collect();
        let up_width = ups.iter().map(|&up| width_of(up)).max().unwrap();
        let edge_width = block.iter().map(|node| width_of(node.1.into())).max().unwrap();
        blocks.extend(((up_width | edge_width << 5) as u16).to_le_bytes());
        let mut packed = BitWriter::default();
        for (up, (_, edge)) in ups.iter().zip(block) {
            packed.put(*up, up_width);
            packed.put((*edge).into(), edge_width);
        }
        blocks.extend(packed.bytes);
    }
    if nodes.len() > 64 {
        let width = width_of(*places.last().unwrap());
        section.push(width as u8);
        let mut packed = BitWriter::default();
        places[1..].iter().for_each(|&place| packed.put(place, width));
        section.extend(packed.bytes);
    }
    section.extend(blocks);
    at as u64
}

/// A name table (`names.md`) of one name a block and one leaf a name; names must be sorted.
pub fn names<N: AsRef<[u8]>>(names: &[N]) -> Vec<u8> {
    let names: Vec<&[u8]> = names.iter().map(AsRef::as_ref).collect();
    assert!(names.is_sorted() && names.iter().all(|name| name.len() <= 128));
    let tokens: Vec<&[u8]> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    let code_bits = width_of(tokens.len() as u64).max(1);
    let mut pool = Vec::<u8>::new();
    let mut token_table = vec![];
    for token in &tokens {
        let leaf = pool.len() as u32 | (token.len() as u32 - 1) << 24;
        token_table.extend(leaf.to_le_bytes());
        pool.extend(*token);
    }
    let mut blocks = vec![];
    let mut index = BitWriter::default();
    let mut code = 0;
    for name in &names {
        index.put(blocks.len() as u64, 32);
        let mut row = BitWriter::default();
        row.put(0, 5 + 3); // keep_bits, more_keep
        row.put(5, 5 + 3); // size_bits, more_size
        row.put(if name.is_empty() { 0 } else { code_bits.into() }, 5);
        blocks.extend(row.bytes);
        if !name.is_empty() {
            let mut suffix = MsbWriter::default();
            suffix.put(code, code_bits);
            blocks.extend(suffix.bytes);
            code += 1;
        }
    }
    assert!(pool.len() < 1 << 24);
    let mut out = vec![];
    for count in [names.len(), tokens.len(), 0, pool.len(), blocks.len()] {
        out.extend((count as u32).to_le_bytes());
    }
    out.extend([0, 0, 32]);
    for length in 1..=20 {
        // Codes, or the groups of those that begin with the same six bits.
        let codes = tokens.len().div_ceil(1 << code_bits.saturating_sub(6));
        out.push(if length == code_bits { codes as u8 } else { 0 });
    }
    out.push(0);
    out.extend(token_table);
    out.extend(index.bytes);
    out.extend(pool);
    out.extend(blocks);
    out.extend([0; 32]);
    out
}

/// Bits, most significant first, as the codes of the name table have them.
#[derive(Default)]
struct MsbWriter {
    bytes: Vec<u8>,
    bit: u32,
}

impl MsbWriter {
    fn put(&mut self, value: u64, width: u32) {
        assert!(value >> width == 0);
        for i in (0..width).rev() {
            if self.bit == 0 {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= ((value >> i & 1) as u8) << (7 - self.bit);
            self.bit = (self.bit + 1) % 8;
        }
    }
}

/// What a file holds, as its tables have it.
#[derive(Clone, Default)]
pub struct Contents {
    pub image_base: u64,
    pub unit_log2: u8,
    /// Feature bit 0.
    pub columns: bool,
    pub max_depth: u32,
    pub max_group: u32,
    /// log2 of the records in a block, for all tables.
    pub block_log2: u8,
    pub build_id: Vec<u8>,
    pub pieces: Vec<[i64; 7]>,
    /// Origin, scopes, name, aliases, flags: not in the order of the file, which has `flags` third.
    pub functions: Vec<[i64; 5]>,
    pub origins: Vec<[i64; 4]>,
    /// The fourth is written with `columns` only.
    pub edges: Vec<[i64; 4]>,
    /// With the leading 0; the tail is added.
    pub rows: Vec<u8>,
    pub scopes: Vec<u8>,
    pub names: Vec<Vec<u8>>,
    pub files: Vec<Vec<u8>>,
    pub groups: Vec<[i64; 1]>,
    pub members: Vec<[i64; 4]>,
    pub aliases: Vec<[i64; 2]>,
    pub calls: Vec<[i64; 4]>,
    pub tails: Vec<[i64; 2]>,
    pub vtables: Vec<[i64; 4]>,
    pub slots: Vec<[i64; 2]>,
    pub overriders: Vec<[i64; 3]>,
    pub guesses: Vec<[i64; 3]>,
    pub dispatches: Vec<[i64; 3]>,
    pub targets: Vec<[i64; 4]>,
    pub imports: Vec<[i64; 2]>,
    pub variables: Vec<[i64; 5]>,
    /// Address minus image_base, size, flags, name.
    pub sections: Vec<(u64, u64, u8, &'static str)>,
}

/// Adds a table that a file has only with records.
fn optional<const K: usize>(to: &mut Vec<(u32, Vec<u8>)>, id: u32, records: &[[i64; K]], log2: u8) {
    to.extend((!records.is_empty()).then(|| (id, table(records, log2))));
}

impl Contents {
    pub fn sections(&self) -> Vec<(u32, Vec<u8>)> {
        let log2 = self.block_log2;
        let tailed = |data: &[u8]| [data, &[0; 8]].concat();
        let edges: Vec<[i64; 3]> = self.edges.iter().map(|edge| [edge[0], edge[1], edge[2]]).collect();
        let edges = if self.columns { table(&self.edges, log2) } else { table(&edges, log2) };
        let mut program = vec![];
        varint(&mut program, self.sections.len() as u64);
        for (address, size, flags, name) in &self.sections {
            varint(&mut program, *address);
            varint(&mut program, *size);
            program.push(*flags);
            varint(&mut program, name.len() as u64);
            program.extend(name.bytes());
        }
        let mut sections = vec![
            (1, self.build_id.clone()),
            (2, self.pieces_table()),
            (3, self.functions_table()),
            (4, self.origins_table()),
            (5, edges),
            (6, tailed(&self.rows)),
            (7, tailed(&self.scopes)),
            (8, names(&self.names)),
            (9, names(&self.files)),
        ];
        if !self.groups.is_empty() {
            sections.push((10, table(&self.groups, log2)));
            sections.push((11, table(&self.members, log2)));
        }
        optional(&mut sections, 12, &self.aliases, log2);
        sections.push((13, program));
        optional(&mut sections, 16, &self.calls, log2);
        optional(&mut sections, 19, &self.tails, log2);
        sections.push((20, self.starts()));
        optional(&mut sections, 21, &self.vtables, log2);
        optional(&mut sections, 22, &self.slots, log2);
        optional(&mut sections, 36, &self.overriders, log2);
        optional(&mut sections, 38, &self.imports, log2);
        optional(&mut sections, 39, &self.variables, log2);
        optional(&mut sections, 40, &self.guesses, log2);
        optional(&mut sections, 41, &self.dispatches, log2);
        optional(&mut sections, 42, &self.targets, log2);
        // A section that no version knows yet: readers skip it.
        sections.push((900, b"later".to_vec()));
        sections
    }

    /// The start of a piece; for the piece after the last, the end of the last.
    fn start(&self, piece: usize) -> i64 {
        match (self.pieces.get(piece), self.pieces.last()) {
            (Some(piece), _) => piece[0],
            (None, Some(last)) => last[0] + last[1] + last[2],
            (None, None) => 0,
        }
    }

    /// Section 3: names as distances from those of the origins. Here they are 0: the origin's, else 1 + name.
    fn functions_table(&self) -> Vec<u8> {
        let record = |&[origin, scopes, name, aliases, flags]: &[i64; 5]| {
            let own = usize::try_from(origin).ok().and_then(|origin| self.origins.get(origin));
            let distance = if name == 0 { 0 } else { name - 1 - own.map_or(0, |origin| origin[0]) };
            [origin, scopes, flags, distance, aliases]
        };
        table(&self.functions.iter().map(record).collect::<Vec<_>>(), self.block_log2)
    }

    /// Section 3: names and edges as distances from lines.
    fn origins_table(&self) -> Vec<u8> {
        let records = (0..).zip(&self.origins);
        let records = records.map(|(i, &[name, file, line, edges])| [name - i, file, line, edges - 2 * i]);
        table(&records.collect::<Vec<_>>(), self.block_log2)
    }

    /// Section 3: the columns of a piece without its start.
    fn pieces_table(&self) -> Vec<u8> {
        let record = |(index, &[start, body, pad, skip, owner, rows, name]): (usize, &[i64; 7])| {
            [self.start(index + 1) - start - body - pad, pad, skip, owner, rows, name]
        };
        let records: Vec<[i64; 6]> = self.pieces.iter().enumerate().map(record).collect();
        table(&records, self.block_log2)
    }

    /// Section 3: starts, in buckets of 32 addresses or as many as a thousandth of all, and low parts 2 bits wider.
    fn starts(&self) -> Vec<u8> {
        let starts: Vec<u64> = self.pieces.iter().map(|piece| piece[0] as u64).collect();
        let last = starts.last().copied().unwrap_or(0);
        let bucket_width = width_of(last >> 10).max(5);
        let low_width = bucket_width + 2;
        // One bucket before the first that is needed.
        let first_bucket = (starts.first().copied().unwrap_or(0) >> bucket_width).saturating_sub(1);
        let buckets = (last >> bucket_width) - first_bucket + 1;
        let index_width = width_of(starts.len() as u64);
        let mut out = vec![];
        out.extend((starts.len() as u32).to_le_bytes());
        out.extend([low_width as u8, index_width as u8, bucket_width as u8, 0]);
        out.extend(self.start(starts.len()).to_le_bytes());
        out.extend((buckets as u32).to_le_bytes());
        out.extend((first_bucket as u32).to_le_bytes());
        let mut packed = BitWriter::default();
        for bucket in 0..=buckets {
            let before =
                starts.iter().filter(|&&start| start >> bucket_width < first_bucket + bucket).count();
            packed.put(before as u64, index_width);
        }
        packed.align();
        starts.iter().for_each(|start| packed.put(start % (1 << low_width), low_width));
        out.extend(packed.bytes);
        out.extend([0; 8]);
        out
    }

    pub fn file(&self) -> Vec<u8> {
        self.assemble(&self.sections())
    }

    /// Section 2: header, directory, sections at multiples of 8.
    pub fn assemble(&self, sections: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut body = vec![];
        let mut directory = vec![];
        let heads: Vec<&[u8]> = sections.iter().map(|(id, data)| head(*id, data)).collect();
        let start = 64 + 32 * sections.len() + heads.concat().len();
        for ((id, data), head) in sections.iter().zip(&heads) {
            while !(start + body.len()).is_multiple_of(8) {
                body.push(0);
            }
            directory.extend(id.to_le_bytes());
            directory.extend(crc32(data).to_le_bytes());
            directory.extend(((start + body.len()) as u64).to_le_bytes());
            directory.extend((data.len() as u64).to_le_bytes());
            directory.extend((head.len() as u64).to_le_bytes());
            body.extend(data);
        }
        directory.extend(heads.concat());
        let mut out = vec![];
        out.extend(*b"\x7ffsym\r\n\x1a");
        out.extend(3u32.to_le_bytes());
        out.extend((directory.len() as u32).to_le_bytes());
        out.extend(((start + body.len()) as u64).to_le_bytes());
        out.extend(u64::from(self.columns).to_le_bytes());
        out.extend(self.image_base.to_le_bytes());
        out.extend(62u16.to_le_bytes());
        let empty_name = self.names.first().is_some_and(Vec::is_empty);
        out.extend([8, u8::from(empty_name) << 4, self.unit_log2, 0, 0, 0]);
        out.extend((sections.len() as u32).to_le_bytes());
        out.extend(self.max_depth.to_le_bytes());
        out.extend(self.max_group.to_le_bytes());
        out.extend([0; 4]);
        out.extend(directory);
        let sum = crc32(&out);
        out[60..64].copy_from_slice(&sum.to_le_bytes());
        out.extend(body);
        out
    }
}

/// Section 2: what the directory repeats of a section.
fn head(id: u32, data: &[u8]) -> &[u8] {
    let len = match id {
        2..=5 | 10..=12 | 16 | 19 | 21 | 22 | 32 | 33 | 36 | 41 | 42 => 8,
        8 | 9 => 44,
        20 | 30 => 24,
        _ => 0,
    };
    &data[..len.min(data.len())]
}

/// Where the directory of a file ends.
pub fn directory_end(file: &[u8]) -> usize {
    64 + u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize
}

/// Makes the checksums and the heads of a file right again after its bytes were changed; `false` where its directory
/// does not say where the sections are.
pub fn reseal(file: &mut [u8]) -> bool {
    let number = |file: &[u8], at: usize, len: usize| {
        let mut bytes = [0; 8];
        file.get(at..at + len).map(|part| {
            bytes[..len].copy_from_slice(part);
            u64::from_le_bytes(bytes)
        })
    };
    let Some(count) = number(file, 48, 4) else { return false };
    let mut head_at = 64 + 32 * count.min(64) as usize;
    for entry in 0..count.min(64) as usize {
        let at = 64 + 32 * entry;
        let (Some(offset), Some(len)) = (number(file, at + 8, 8), number(file, at + 16, 8)) else {
            return false;
        };
        let range = offset as usize..(offset as usize).saturating_add(len as usize);
        let Some(section) = file.get(range) else { return false };
        let sum = crc32(section);
        let Some(head_len) = number(file, at + 24, 4) else { return false };
        let Some(head) = section.get(..head_len as usize).map(<[u8]>::to_vec) else { return false };
        let Some(place) = file.get_mut(head_at..head_at + head.len()) else { return false };
        place.copy_from_slice(&head);
        head_at += head.len();
        file[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
    }
    let Some(end) = number(file, 12, 4).map(|len| 64 + len as usize) else { return false };
    let Some(head) = file.get_mut(..end).filter(|head| head.len() >= 64) else { return false };
    head[60..64].fill(0);
    let sum = crc32(head);
    head[60..64].copy_from_slice(&sum.to_le_bytes());
    true
}
