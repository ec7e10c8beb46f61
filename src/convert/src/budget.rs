//! A bound on comparisons whose number is a product of two counts that the input chooses.

use std::cell::Cell;

/// Steps that are left to a part of the conversion. It is spent through shared references, and all at once runs out: what
/// follows then is left undone, the same on every run.
pub(crate) struct Budget {
    left: Cell<u64>,
    short: Cell<bool>,
}

impl Budget {
    pub(crate) fn new(steps: u64) -> Budget {
        Budget { left: Cell::new(steps), short: Cell::new(false) }
    }

    /// Takes so many steps; false where fewer are left, and from then on.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        match self.left.get().checked_sub(steps as u64) {
            Some(left) if !self.short.get() => self.left.set(left),
            _ => self.short.set(true),
        }
        !self.short.get()
    }

    /// Steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    /// True where there was something to do for which no steps were left.
    pub(crate) fn is_short(&self) -> bool {
        self.short.get()
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn what_is_short_once_stays_so() {
        let budget = Budget::new(5);
        assert!(budget.spend(2) && budget.spend(3) && !budget.is_short());
        assert!(budget.spend(0) && !budget.spend(1) && !budget.spend(0) && budget.is_short());
        let budget = Budget::new(5);
        assert!(!budget.spend(6) && !budget.spend(1));
    }
}
