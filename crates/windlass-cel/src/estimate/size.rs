//! How many characters, items or entries a value has.

/// The bounds of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Size = Size { min: 0, max: u64::MAX };
    pub(super) const ONE: Size = Size { min: 1, max: 1 };
    pub(super) const ZERO: Size = Size { min: 0, max: 0 };

    pub(super) fn fixed(length: usize) -> Self {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        Size { min: length, max: length }
    }

    pub(super) fn add(self, other: Size) -> Size {
        Size { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn multiply(self, other: Size) -> Size {
        Size { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn union(self, other: Size) -> Size {
        Size { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The bounds of all of some sizes; zero if there are none.
    pub(super) fn union_of(sizes: impl IntoIterator<Item = Size>) -> Size {
        sizes.into_iter().reduce(Size::union).unwrap_or(Size::ZERO)
    }
}

/// A number times a factor, rounded up, that ends at the highest number.
pub(super) fn by_factor(number: u64, factor: f64) -> u64 {
    #[expect(clippy::cast_precision_loss, reason = "Kubernetes computes so")]
    let product = (number as f64 * factor).ceil();
    // Conversion from a float ends at the bounds of the integer.
    product as u64
}
