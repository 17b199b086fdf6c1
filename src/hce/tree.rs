//! The dotted names of terms as a tree, the shape that they have in files.

use shakmaty::Square;

use crate::terms::TermEntry;

/// The terms below a prefix.
#[derive(Debug, Default)]
pub struct Tree {
    /// The term whose name is the prefix itself.
    pub term: Option<usize>,
    /// By the next word, in the order of the first terms.
    pub children: Vec<(String, Tree)>,
}

impl Tree {
    pub fn of(terms: &[TermEntry]) -> Tree {
        let mut tree = Tree::default();
        for (number, term) in terms.iter().enumerate() {
            let mut node = &mut tree;
            for word in term.name.split('.') {
                let known = node.children.iter().rposition(|(name, _)| name == word);
                let place = known.unwrap_or_else(|| {
                    node.children.push((word.to_string(), Tree::default()));
                    node.children.len() - 1
                });
                node = &mut node.children[place].1;
            }
            node.term = Some(number);
        }
        tree
    }

    /// The terms of a1 to h8, if that is all there is.
    pub fn table(&self) -> Option<Vec<usize>> {
        if self.term.is_some() || self.children.len() != 64 {
            return None;
        }
        let squares = Square::ALL.into_iter().zip(&self.children);
        squares
            .map(|(square, (name, tree))| {
                let leaf = tree.children.is_empty() && *name == square.to_string();
                tree.term.filter(|_| leaf)
            })
            .collect()
    }
}
