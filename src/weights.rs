//! Named f32 arrays with shapes, and their file format (safetensors).

use std::collections::{BTreeMap, HashMap};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

/// The name of the bytes that a file may have besides its arrays.
const BLOB: &str = "resume.optimizer";
/// The only header entry: a JSON object of all facts in fixed order, for reproducible files.
const FACTS: &str = "nnuance";

#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// The float parameters of a model, by name. Nets: `accumulator.weight` `[inputs, hidden]`,
/// `accumulator.bias` `[hidden]`, `output.weight` `[perspectives * hidden]` (side to move first),
/// `output.bias` `[1]`. Handcrafted terms, in centipawns, as initial values and their changes by
/// training: `terms.start` and `terms.change` `[terms, 2]` (middlegame, endgame), `tempo.start` and
/// `tempo.change` `[1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(pub BTreeMap<String, NamedArray>);

#[derive(Clone, Debug, Default)]
pub struct WeightsFile {
    pub weights: Weights,
    /// The text from the header; empty in files of other tools.
    pub facts: BTreeMap<String, String>,
    /// The bytes that are not weights.
    pub blob: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("not a safetensors file: {0}")]
    Format(#[from] safetensors::SafeTensorError),
    #[error("tensor {name} has type {dtype:?}, expected F32")]
    Dtype { name: String, dtype: Dtype },
    #[error("tensor {name} is missing; the file has {held}")]
    Missing { name: String, held: String },
    #[error("tensor {name} has shape {found:?}, expected {expected:?}")]
    Shape { name: String, found: Vec<usize>, expected: Vec<usize> },
    #[error(
        "{name}[{index}] is {value}, expected a finite number: the training diverged, or the file \
         is damaged"
    )]
    NotFinite { name: String, index: usize, value: f32 },
}

impl Weights {
    /// Adds an array, row-major, or replaces the one of this name.
    ///
    /// # Panics
    ///
    /// Panics if the number of values does not fit the shape.
    pub fn insert(&mut self, name: &str, shape: &[usize], values: Vec<f32>) {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "{name} has shape {shape:?}");
        self.0.insert(name.to_string(), NamedArray { shape: shape.to_vec(), values });
    }

    /// Returns the values of an array, row-major, and checks its shape.
    ///
    /// # Errors
    ///
    /// Fails with [`WeightsError::Missing`] without an array of this name, and with
    /// [`WeightsError::Shape`] if it has another shape.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<&[f32], WeightsError> {
        let array = self.0.get(name).ok_or_else(|| WeightsError::Missing {
            name: name.to_string(),
            held: self.0.keys().cloned().collect::<Vec<_>>().join(", "),
        })?;
        if array.shape != shape {
            return Err(WeightsError::Shape {
                name: name.to_string(),
                found: array.shape.clone(),
                expected: shape.to_vec(),
            });
        }
        Ok(&array.values)
    }

    pub fn non_finite(&self) -> Option<(&str, usize, f32)> {
        self.0.iter().find_map(|(name, array)| {
            let index = array.values.iter().position(|value| !value.is_finite())?;
            Some((name.as_str(), index, array.values[index]))
        })
    }

    /// The hash of all values, bit by bit.
    pub fn hash(&self) -> u64 {
        let values = self.0.values().flat_map(|array| &array.values);
        // FNV-1a, a word at a time.
        values.fold(0xcbf2_9ce4_8422_2325, |hash, value| {
            (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Checks that all values are finite, as results computed with others would not be.
    ///
    /// # Errors
    ///
    /// Fails with [`WeightsError::NotFinite`] for the first value that is NaN or infinite.
    pub fn check_finite(&self) -> Result<(), WeightsError> {
        match self.non_finite() {
            None => Ok(()),
            Some((name, index, value)) => {
                Err(WeightsError::NotFinite { name: name.into(), index, value })
            }
        }
    }

    /// Writes a safetensors file, with text facts in its header and optional other bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`WeightsError::Format`] if an array does not have the values of its shape.
    pub fn to_bytes(
        &self,
        facts: &BTreeMap<String, String>,
        blob: &[u8],
    ) -> Result<Vec<u8>, WeightsError> {
        let little_endian = |array: &NamedArray| -> Vec<u8> {
            let bytes = array.values.iter().map(|value| value.to_le_bytes());
            bytes.collect::<Vec<_>>().into_flattened()
        };
        let bytes: Vec<Vec<u8>> = self.0.values().map(little_endian).collect();
        let mut tensors = Vec::new();
        for ((name, array), bytes) in self.0.iter().zip(&bytes) {
            tensors.push((name.as_str(), TensorView::new(Dtype::F32, array.shape.clone(), bytes)?));
        }
        if !blob.is_empty() {
            tensors.push((BLOB, TensorView::new(Dtype::U8, vec![blob.len()], blob)?));
        }
        let facts = serde_json::to_string(facts).expect("text has a JSON form");
        let header = HashMap::from([(FACTS.to_string(), facts)]);
        Ok(safetensors::serialize(tensors, Some(header))?)
    }

    /// Parses a file that [`Weights::to_bytes`] or another tool wrote.
    ///
    /// # Errors
    ///
    /// Fails with [`WeightsError::Format`] if the bytes are not a safetensors file, with
    /// [`WeightsError::Dtype`] for an array of another type than f32, and with
    /// [`WeightsError::NotFinite`] for a value that is NaN or infinite.
    pub fn from_bytes(bytes: &[u8]) -> Result<WeightsFile, WeightsError> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let facts = header.metadata().as_ref().and_then(|facts| facts.get(FACTS));
        let facts = facts.and_then(|facts| serde_json::from_str(facts).ok()).unwrap_or_default();
        let mut weights = Weights::default();
        let mut blob = Vec::new();
        for (name, tensor) in SafeTensors::deserialize(bytes)?.iter() {
            match tensor.dtype() {
                Dtype::U8 if name == BLOB => blob = tensor.data().to_vec(),
                Dtype::F32 => {
                    let values = tensor.data().as_chunks().0.iter().copied();
                    let values = values.map(f32::from_le_bytes).collect();
                    weights.insert(name, tensor.shape(), values);
                }
                dtype => return Err(WeightsError::Dtype { name: name.to_string(), dtype }),
            }
        }
        weights.check_finite()?;
        Ok(WeightsFile { weights, facts, blob })
    }
}
