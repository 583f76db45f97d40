//! Vectors that a matrix nearly annihilates, which coarse levels must represent.

use std::any::Any;

use host::error::{Error, check_length};
use host::executor::Executor;
use host::memory::{HostMemory, Memory, collect, with_capacity};
use host::real::Scalar;

use super::start::ConstantVectors;

/// Vectors that the matrix nearly annihilates, such as constants for a diffusion, or rigid body modes for elasticity:
/// coarse levels represent them exactly.
#[derive(Clone, Debug)]
pub struct NearNullSpace<T> {
    vectors: usize,
    rows: usize,
    /// By rows; `None` for constants.
    elements: Option<Vec<T>>,
}

/// Largest number of vectors.
pub(super) const MOST_VECTORS: usize = 32;

impl<T: Scalar> NearNullSpace<T> {
    /// Takes vectors stored consecutively, each with an element for each of `rows` rows.
    ///
    /// # Errors
    /// When there are no or more than 32 vectors, the length of the array is wrong, an element is not finite, or memory
    /// runs out.
    pub fn new(rows: usize, vectors: usize, columns: &[T]) -> Result<Self, Error> {
        if !(1..=MOST_VECTORS).contains(&vectors) {
            let (what, value) = ("the number of near-null-space vectors", vectors.to_string());
            return Err(Error::Setting { what, value, expected: "1 to 32" });
        }
        check_length("the array of near-null-space vectors", columns.len(), rows.saturating_mul(vectors))?;
        if let Some(place) = columns.iter().position(|element| !element.is_finite()) {
            let what = "an element of a near-null-space vector";
            return Err(Error::Setting { what, value: columns[place].to_string(), expected: "a finite number" });
        }
        let mut elements = with_capacity(columns.len())?;
        for row in 0..rows {
            elements.extend((0..vectors).map(|vector| columns[vector * rows + row]));
        }
        Ok(Self { vectors, rows, elements: Some(elements) })
    }

    /// Creates, for nodes of `node` unknowns each, the vectors that are 1 in one unknown of every node and 0 in the others:
    /// for one unknown per node, the constant vector. They are written in the executor's memory.
    ///
    /// # Errors
    /// When `node` is not from 1 to 32, or `rows` is not a multiple of it.
    pub fn constants(rows: usize, node: usize) -> Result<Self, Error> {
        if !(1..=MOST_VECTORS).contains(&node) || !rows.is_multiple_of(node) {
            let expected = "a divisor of the number of rows, 1 to 32";
            return Err(Error::Setting { what: "the number of unknowns of a node", value: node.to_string(), expected });
        }
        Ok(Self { vectors: node, rows, elements: None })
    }

    /// Creates the rigid body modes of nodes in space. A node's unknowns are its displacements along the coordinates,
    /// stored consecutively, as are its `coordinates`. There are 3 translations and 3 rotations in 3 dimensions, 2
    /// translations and a rotation in 2 dimensions.
    ///
    /// # Errors
    /// When there are not 2 or 3 dimensions, the coordinates do not form whole nodes or are not finite, or memory runs out.
    pub fn rigid_body_modes(dimensions: usize, coordinates: &[f64]) -> Result<Self, Error> {
        let vectors = match dimensions {
            2 => 3,
            3 => 6,
            _ => {
                let (what, value) = ("the number of dimensions", dimensions.to_string());
                return Err(Error::Setting { what, value, expected: "2 or 3" });
            }
        };
        let nodes = coordinates.len() / dimensions;
        check_length("the array of coordinates", coordinates.len(), nodes * dimensions)?;
        if let Some(&number) = coordinates.iter().find(|number| !number.is_finite()) {
            return Err(Error::Setting {
                what: "a coordinate",
                value: number.to_string(),
                expected: "a finite number",
            });
        }
        // Centred, so that rotations are not sums of large translations and small rotations.
        let middle = |axis: usize| coordinates.iter().skip(axis).step_by(dimensions).sum::<f64>() / nodes.max(1) as f64;
        let middle = [middle(0), middle(1), if dimensions == 3 { middle(2) } else { 0.0 }];
        let mut elements = with_capacity(coordinates.len().saturating_mul(vectors))?;
        for node in coordinates.chunks_exact(dimensions) {
            let at = |axis: usize| node[axis] - middle[axis];
            let mut put = |row: &[f64]| elements.extend(row.iter().map(|&element| T::from_f64(element)));
            if dimensions == 2 {
                put(&[1.0, 0.0, -at(1)]);
                put(&[0.0, 1.0, at(0)]);
            } else {
                put(&[1.0, 0.0, 0.0, 0.0, at(2), -at(1)]);
                put(&[0.0, 1.0, 0.0, -at(2), 0.0, at(0)]);
                put(&[0.0, 0.0, 1.0, at(1), -at(0), 0.0]);
            }
        }
        Ok(Self { vectors, rows: coordinates.len(), elements: Some(elements) })
    }

    /// Returns the number of rows of each vector.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of vectors.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Returns an element, by its index in the array by rows.
    fn element(&self, place: usize) -> T {
        let is_one = place / self.vectors % self.vectors == place % self.vectors;
        self.elements.as_ref().map_or(if is_one { T::ONE } else { T::ZERO }, |elements| elements[place])
    }

    /// Returns the vectors in 64 bits in an executor's memory.
    pub(super) fn widened<E: Executor>(&self, executor: &E) -> Result<Vectors<T::Wide, E::Memory>, Error> {
        let elements = match &self.elements {
            None => executor.run::<ConstantVectors<T::Wide>>((self.rows, self.vectors))?,
            Some(elements) => match (elements as &dyn Any).downcast_ref::<Vec<T::Wide>>() {
                Some(wide) => executor.upload_slice(wide)?,
                None => executor.upload(collect(elements.iter().map(|element| element.to_wide()))?)?,
            },
        };
        Ok(Vectors { count: self.vectors, elements })
    }
}

/// Compares the vectors, however they were made.
impl<T: Scalar> PartialEq for NearNullSpace<T> {
    fn eq(&self, other: &Self) -> bool {
        let same_size = (self.rows, self.vectors) == (other.rows, other.vectors);
        same_size && (0..self.rows * self.vectors).all(|place| self.element(place) == other.element(place))
    }
}

/// Near-null-space vectors of a level.
pub(super) struct Vectors<W: Scalar, M: Memory = HostMemory> {
    /// Number of vectors, 1 to 32.
    pub(super) count: usize,
    /// By rows.
    pub(super) elements: M::Buffer<W>,
}

#[cfg(test)]
mod tests {
    use host::executor::Cpu;

    use super::*;

    #[test]
    fn rigid_motions_strain_nothing() {
        // A spring between two nodes exerts no force if their displacements differ only perpendicular to it.
        for (dimensions, coordinates) in [(2, vec![0.0, 0.0, 3.0, 4.0]), (3, vec![1.0, 2.0, 3.0, 4.0, 8.0, -1.0])] {
            let modes = NearNullSpace::<f64>::rigid_body_modes(dimensions, &coordinates).unwrap();
            let elements = modes.elements.as_ref().unwrap();
            assert_eq!((modes.rows(), elements.len()), (2 * dimensions, 2 * dimensions * modes.vectors()));
            for mode in 0..modes.vectors() {
                let stretch = (0..dimensions).map(|axis| {
                    let displacement = |node: usize| elements[(node * dimensions + axis) * modes.vectors() + mode];
                    (displacement(1) - displacement(0)) * (coordinates[dimensions + axis] - coordinates[axis])
                });
                assert!(stretch.sum::<f64>().abs() < 1e-12, "{dimensions} dimensions, mode {mode}");
            }
        }
    }

    #[test]
    fn vectors_without_a_meaning_are_refused() {
        let error = |result: Result<NearNullSpace<f64>, Error>| result.unwrap_err().to_string();
        assert_eq!(
            error(NearNullSpace::new(2, 0, &[])),
            "the number of near-null-space vectors is 0, expected 1 to 32"
        );
        let short = NearNullSpace::new(2, 2, &[1.0; 3]);
        assert_eq!(error(short), "the array of near-null-space vectors has length 3, expected 4");
        let infinite = NearNullSpace::new(2, 1, &[1.0, f64::INFINITY]);
        assert_eq!(error(infinite), "an element of a near-null-space vector is inf, expected a finite number");
        let uneven = "the number of unknowns of a node is 2, expected a divisor of the number of rows, 1 to 32";
        assert_eq!(error(NearNullSpace::constants(3, 2)), uneven);
        assert_eq!(error(NearNullSpace::rigid_body_modes(1, &[])), "the number of dimensions is 1, expected 2 or 3");
        let uneven = NearNullSpace::rigid_body_modes(2, &[1.0]);
        assert_eq!(error(uneven), "the array of coordinates has length 1, expected 0");
        let vectors = NearNullSpace::new(2, 2, &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(vectors.elements.as_deref(), Some(&[1.0, 3.0, 2.0, 4.0][..]));
        let constants = NearNullSpace::<f32>::constants(4, 2).unwrap();
        assert_eq!(constants, NearNullSpace::new(4, 2, &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]).unwrap());
        assert_ne!(constants, NearNullSpace::new(4, 2, &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0]).unwrap());
        let elements = constants.widened(&Cpu::new()).unwrap().elements;
        assert_eq!(elements, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    }
}
