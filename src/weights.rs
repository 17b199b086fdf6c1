//! Named f32 arrays with shapes, and their form on disk (safetensors).

use std::collections::{BTreeMap, HashMap};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

/// Name of the bytes that a file may have besides its arrays.
const BLOB: &str = "resume.optimizer";
/// The one header entry: all facts as a JSON object in fixed order, so that files are reproducible.
const FACTS: &str = "nnuance";

#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// The float parameters of a model, by name. Nets: `accumulator.weight` `[inputs, hidden]`,
/// `accumulator.bias` `[hidden]`, `output.weight` `[views * hidden]` (side to move first),
/// `output.bias` `[1]`. Handcrafted terms, in centipawns, as start values and what training has
/// added: `terms.start` and `terms.change` `[terms, 2]` (middlegame, endgame), `tempo.start` and
/// `tempo.change` `[1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(pub BTreeMap<String, NamedArray>);

#[derive(Clone, Debug, Default)]
pub struct WeightsFile {
    pub weights: Weights,
    /// Text from the header; empty in files of other tools.
    pub facts: BTreeMap<String, String>,
    /// Bytes that are not weights.
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
        "{name}[{place}] is {value}, expected a finite number: the training diverged, or the file \
         is damaged"
    )]
    NotFinite { name: String, place: usize, value: f32 },
}

impl Weights {
    /// Adds an array; panics if the number of values does not fit the shape.
    pub fn insert(&mut self, name: &str, shape: &[usize], values: Vec<f32>) {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "{name} has shape {shape:?}");
        self.0.insert(name.to_string(), NamedArray { shape: shape.to_vec(), values });
    }

    /// The values of an array, whose shape is checked.
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
            let place = array.values.iter().position(|value| !value.is_finite())?;
            Some((name.as_str(), place, array.values[place]))
        })
    }

    /// Hash of all values, bit by bit.
    pub fn hash(&self) -> u64 {
        let values = self.0.values().flat_map(|array| &array.values);
        // FNV-1a, a word at a time.
        values.fold(0xcbf2_9ce4_8422_2325, |hash, value| {
            (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Fails if a value is not finite: results computed with it would not be, either.
    pub fn check_finite(&self) -> Result<(), WeightsError> {
        match self.non_finite() {
            None => Ok(()),
            Some((name, place, value)) => {
                Err(WeightsError::NotFinite { name: name.into(), place, value })
            }
        }
    }

    /// Bytes of a safetensors file, with text facts in its header and optional other bytes.
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
        let mut views = Vec::new();
        for ((name, array), bytes) in self.0.iter().zip(&bytes) {
            views.push((name.as_str(), TensorView::new(Dtype::F32, array.shape.clone(), bytes)?));
        }
        if !blob.is_empty() {
            views.push((BLOB, TensorView::new(Dtype::U8, vec![blob.len()], blob)?));
        }
        let facts = serde_json::to_string(facts).expect("text has a JSON form");
        let header = HashMap::from([(FACTS.to_string(), facts)]);
        Ok(safetensors::serialize(views, Some(header))?)
    }

    /// Parses a file that [`Weights::to_bytes`] or another tool wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<WeightsFile, WeightsError> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let facts = header.metadata().as_ref().and_then(|facts| facts.get(FACTS));
        let facts = facts.and_then(|facts| serde_json::from_str(facts).ok()).unwrap_or_default();
        let mut weights = Weights::default();
        let mut blob = Vec::new();
        for (name, view) in SafeTensors::deserialize(bytes)?.iter() {
            match view.dtype() {
                Dtype::U8 if name == BLOB => blob = view.data().to_vec(),
                Dtype::F32 => {
                    let values = view.data().as_chunks().0.iter().copied();
                    let values = values.map(f32::from_le_bytes).collect();
                    weights.insert(name, view.shape(), values);
                }
                dtype => return Err(WeightsError::Dtype { name: name.to_string(), dtype }),
            }
        }
        weights.check_finite()?;
        Ok(WeightsFile { weights, facts, blob })
    }
}
