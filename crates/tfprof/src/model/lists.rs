//! Interned short lists (shapes, sets of types): each distinct list is stored once.

use crate::hash::UntrustedMap;
use std::hash::Hash;
use std::marker::PhantomData;

/// The id of a list of `T`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListId<T>(u32, PhantomData<T>);

impl<T> ListId<T> {
    /// The empty list.
    pub const EMPTY: ListId<T> = ListId(0, PhantomData);
}

#[derive(Clone, Debug)]
pub struct Lists<T> {
    items: Vec<T>,
    ends: Vec<u32>,
    ids: UntrustedMap<Box<[T]>, ListId<T>>,
}

impl<T: Copy + Eq + Hash> Default for Lists<T> {
    fn default() -> Self {
        let mut lists = Lists { items: Vec::new(), ends: Vec::new(), ids: UntrustedMap::default() };
        lists.intern(&[]);
        lists
    }
}

impl<T: Copy + Eq + Hash> Lists<T> {
    pub fn get(&self, id: ListId<T>) -> &[T] {
        let index = id.0 as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.items[start..self.ends[index] as usize]
    }

    /// All lists.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.items[start as usize..*end as usize])
    }

    pub fn intern(&mut self, list: &[T]) -> ListId<T> {
        if let Some(id) = self.ids.get(list) {
            return *id;
        }
        let id = ListId(self.ends.len() as u32, PhantomData);
        self.items.extend_from_slice(list);
        self.ends.push(self.items.len() as u32);
        self.ids.insert(list.into(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_share_an_id() {
        let mut lists = Lists::default();
        let a = lists.intern(&[2_i64, 3]);
        let b = lists.intern(&[4]);
        assert_eq!((lists.intern(&[2, 3]), lists.get(a), lists.get(b)), (a, &[2, 3][..], &[4][..]));
        assert_eq!(lists.intern(&[]), ListId::EMPTY);
    }
}
