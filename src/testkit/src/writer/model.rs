//! Random programs, and what a plain walk over their parts answers.

use super::{Contents, Random, RawRow, rows_record, scopes_record};

pub struct Shape {
    /// Trees of a few long paths rather than bushes.
    pub deep: bool,
    pub functions: u64,
    pub max_rows: u64,
    pub max_nodes: u64,
    pub origins: u64,
    pub unit_log2: u8,
    pub block_log2: u8,
    pub columns: bool,
}

pub struct Origin {
    pub name: u32,
    pub file: Option<u32>,
    pub line: u32,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub line: i64,
    pub file: u64,
    pub column: u64,
    pub callee: u32,
}

pub struct Function {
    pub start: u64,
    pub len: u64,
    pub origin: u32,
    /// Parent and edge of nodes 1...
    pub nodes: Vec<(u32, u32)>,
    pub rows: Vec<RawRow>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ExpectedFrame {
    pub name: Option<u32>,
    pub file: Option<u32>,
    pub line: u32,
    pub column: u32,
}

pub struct Program {
    pub image_base: u64,
    pub origins: Vec<Origin>,
    pub functions: Vec<Function>,
    names: u32,
    files: u32,
    unit_log2: u8,
    block_log2: u8,
    columns: bool,
}

impl Program {
    pub fn random(random: &mut Random, shape: &Shape) -> Self {
        let files = 1 + shape.origins / 4;
        let file_code = |random: &mut Random| match random.below(10) {
            0 => 1,
            1 => 2 + random.below(files),
            _ => 0,
        };
        let column = |random: &mut Random| if shape.columns { random.below(100) } else { 0 };
        let mut origins = vec![];
        for name in 0..shape.origins {
            let line = 1 + random.below(5000) as u32;
            let mut edges: Vec<Edge> = (0..random.below(12))
                .map(|_| Edge {
                    line: random.below(300) as i64 - 20i64.min(line.into()),
                    file: file_code(random),
                    column: column(random),
                    callee: random.below(shape.origins) as u32,
                })
                .collect();
            edges.sort_unstable();
            edges.dedup();
            let file = random.below(files + 1).checked_sub(1).map(|file| file as u32);
            origins.push(Origin { name: name as u32, file, line, edges });
        }
        let mut functions = vec![];
        let mut start = 0x1000;
        for _ in 0..shape.functions {
            let origin = random.below(shape.origins) as u32;
            let mut nodes = vec![];
            // In preorder: the path from the root to the newest node.
            let mut path = vec![(0u32, origin)];
            for _ in 0..random.below(shape.max_nodes + 1) {
                if !shape.deep || random.below(20) == 0 {
                    path.truncate(1 + random.below(path.len() as u64) as usize);
                }
                if path.len() > 200 {
                    path.truncate(100);
                }
                let (parent, caller) = *path.last().unwrap();
                let edges = &origins[caller as usize].edges;
                if edges.is_empty() {
                    path.truncate(path.len().saturating_sub(1).max(1));
                    continue;
                }
                let edge = random.below(edges.len() as u64) as u32;
                nodes.push((parent, edge));
                path.push((nodes.len() as u32, edges[edge as usize].callee));
            }
            let mut offset = 0;
            let rows = (0..1 + random.below(shape.max_rows))
                .map(|_| {
                    let row = RawRow {
                        offset,
                        scope: random.below(nodes.len() as u64 + 1),
                        line: (random.below(20) > 0).then(|| random.below(400) as i64),
                        file: file_code(random),
                        column: column(random),
                    };
                    // Even steps now and then, so that blocks have equal offsets; and some that are far.
                    offset += match random.below(16) {
                        _ if shape.max_rows > 1000 => 4,
                        0 => 1 + random.below(5000),
                        _ => 1 + random.below(20),
                    };
                    row
                })
                .collect();
            let len = offset << shape.unit_log2;
            functions.push(Function { start, len, origin, nodes, rows });
            start += len + random.below(2) * random.below(64);
        }
        let names = shape.origins as u32;
        Self {
            image_base: 0x7000_0000,
            origins,
            functions,
            names,
            files: files as u32,
            unit_log2: shape.unit_log2,
            block_log2: shape.block_log2,
            columns: shape.columns,
        }
    }

    pub fn contents(&self) -> Contents {
        let mut rows = vec![0];
        let mut scopes = vec![0];
        let mut contents = Contents {
            image_base: self.image_base,
            unit_log2: self.unit_log2,
            columns: self.columns,
            block_log2: self.block_log2,
            names: (0..self.names).map(|name| format!("n{name:07}").into_bytes()).collect(),
            files: (0..self.files).map(|file| format!("/f{file:07}").into_bytes()).collect(),
            ..Contents::default()
        };
        for origin in &self.origins {
            let first = contents.edges.len() as i64;
            contents.origins.push([
                origin.name.into(),
                origin.file.map_or(0, |file| i64::from(file) + 1),
                origin.line.into(),
                first,
            ]);
            contents.edges.extend(
                origin
                    .edges
                    .iter()
                    .map(|edge| [edge.callee.into(), edge.line, edge.file as i64, edge.column as i64]),
            );
        }
        for (id, function) in self.functions.iter().enumerate() {
            let rows = rows_record(&mut rows, &function.rows, true) as i64;
            let tree =
                if function.nodes.is_empty() { 0 } else { scopes_record(&mut scopes, &function.nodes) };
            contents.functions.push([function.origin.into(), tree as i64, 0, 0, 0]);
            let (start, len) = (function.start as i64, function.len as i64);
            contents.pieces.push([start, len, 0, 0, 2 * id as i64, rows, 0]);
        }
        // The depths of nodes 0, 1, ...; a parent comes before its children.
        let depths = |function: &Function| {
            function.nodes.iter().fold(vec![0], |mut depths, &(parent, _)| {
                depths.push(depths[parent as usize] + 1);
                depths
            })
        };
        contents.max_depth = self.functions.iter().flat_map(depths).max().unwrap_or(0);
        contents.rows = rows;
        contents.scopes = scopes;
        contents
    }

    fn file(&self, code: u64, origin: &Origin) -> Option<u32> {
        match code {
            0 => origin.file,
            1 => None,
            code => Some(code as u32 - 2),
        }
    }

    fn origin_of(&self, function: &Function, node: u32) -> &Origin {
        let origin = match node {
            0 => function.origin,
            _ => {
                let (parent, edge) = function.nodes[node as usize - 1];
                self.origin_of(function, parent).edges[edge as usize].callee
            }
        };
        &self.origins[origin as usize]
    }

    /// Section 6: "An answer for a row with scope s".
    pub fn frames(&self, function: &Function, row: &RawRow) -> Vec<ExpectedFrame> {
        let mut frames = vec![];
        let mut node = row.scope as u32;
        let origin = self.origin_of(function, node);
        let line = row.line.map_or(0, |line| (i64::from(origin.line) + line) as u32);
        let column = row.column as u32;
        frames.push(ExpectedFrame {
            name: Some(origin.name),
            file: self.file(row.file, origin),
            line,
            column,
        });
        while node != 0 {
            let (parent, edge) = function.nodes[node as usize - 1];
            let caller = self.origin_of(function, parent);
            let edge = &caller.edges[edge as usize];
            frames.push(ExpectedFrame {
                name: Some(caller.name),
                file: self.file(edge.file, caller),
                line: (i64::from(caller.line) + edge.line) as u32,
                column: edge.column as u32,
            });
            node = parent;
        }
        frames
    }
}
