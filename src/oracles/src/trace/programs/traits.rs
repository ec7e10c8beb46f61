//! Generic functions, closures, trait objects and iterators of equal code.

use std::fmt::Debug;
use std::hint::black_box;

trait Area {
    fn area(&self, x: u64) -> u64;
    fn edge(&self, x: u64) -> u64 {
        self.area(x) + 1
    }
}

struct Square(u64);
struct Circle(u64);

impl Area for Square {
    #[inline(never)]
    fn area(&self, x: u64) -> u64 {
        black_box(self.0) * x + 2
    }
}

impl Area for Circle {
    #[inline(never)]
    fn area(&self, x: u64) -> u64 {
        black_box(self.0) * x + 2
    }
}

#[inline(never)]
fn sum<T: Copy + Into<u64>>(all: &[T]) -> u64 {
    all.iter().map(|&one| black_box(one.into())).sum()
}

#[inline(never)]
fn longest<T: Ord + Clone + Debug>(all: &mut Vec<T>) -> String {
    all.sort();
    format!("{:?}", all.last().cloned())
}

#[inline(never)]
fn weigh(x: i64) -> i64 {
    black_box(x) + 3
}

#[inline(never)]
fn price(x: u64) -> u64 {
    black_box(x) + 3
}

fn main() {
    let shapes: Vec<Box<dyn Area>> = vec![Box::new(Square(2)), Box::new(Circle(3))];
    let mut total: u64 = shapes.iter().map(|shape| shape.area(3) + shape.edge(4)).sum();
    total += sum(&[1_u32, 2, 3]) + sum(&[1_u64, 2, 3]) + price(4) + weigh(5) as u64;
    let calls: [Box<dyn Fn(u64) -> u64>; 2] = [Box::new(|x| price(x) + 1), Box::new(|x| price(x) + 1)];
    total += calls.iter().map(|call| call(2)).sum::<u64>();
    let names = longest(&mut vec![3_i64, 1, 2]) + &longest(&mut vec![3_u64, 1, 2]) + &longest(&mut vec!["b", "a"]);
    println!("{total} {names}");
}
