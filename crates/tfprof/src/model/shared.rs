//! [`Shared`]: copy-on-write, for parts of the model that parallel readers share and may have to change.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Owned until it is lent; copy-on-write afterwards.
#[derive(Clone, Debug)]
pub enum Shared<T> {
    Own(T),
    Lent(Arc<T>),
}

impl<T> Shared<T> {
    /// Another owner of the same value.
    #[must_use]
    pub fn lend(&mut self) -> Shared<T>
    where
        T: Default,
    {
        let lent = match std::mem::take(self) {
            Shared::Own(own) => Arc::new(own),
            Shared::Lent(lent) => lent,
        };
        *self = Shared::Lent(Arc::clone(&lent));
        Shared::Lent(lent)
    }
}

impl<T: Clone + Default> Shared<T> {
    /// The last owner takes the value back, others copy it.
    #[cold]
    fn take_back(&mut self) {
        if let Shared::Lent(lent) = self {
            *self = Shared::Own(Arc::unwrap_or_clone(std::mem::take(lent)));
        }
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Shared::Own(T::default())
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Shared::Own(own) => own,
            Shared::Lent(lent) => lent,
        }
    }
}

impl<T: Clone + Default> DerefMut for Shared<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        if let Shared::Lent(_) = self {
            self.take_back();
        }
        match self {
            Shared::Own(own) => own,
            Shared::Lent(_) => unreachable!("it is owned since the lines above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_data_is_copied_on_write() {
        let mut first = Shared::Own(vec![1]);
        let mut second = first.lend();
        second.push(2);
        assert_eq!((&*first, &*second), (&vec![1], &vec![1, 2]));
        let third = first.lend();
        let at = third.as_ptr();
        drop(first);
        let mut third = third;
        third[0] = 7;
        assert_eq!((third.as_ptr(), third[0]), (at, 7));
    }
}
