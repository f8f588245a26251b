use std::borrow::Cow;

use crate::codec::LoadError;
use crate::event::{Action, Context, ContextError, FeatureSchema};
use crate::oracle::{Example, ItemTree, MonotonePieces, RegressionOracle};

/// An oracle over numbers, made to take named features: a schema turns them into its numbers.
///
/// f̂(x, a) = f̂′(encode(x), a). Whatever asks the oracle, to decide, replay, train or evaluate, goes through the schema.
/// Contexts of numbers, as long as the schema is wide, are taken as they are.
pub struct NamedFeatures<A: Action> {
    schema: FeatureSchema,
    inner: Box<dyn RegressionOracle<Context, A>>,
}

impl<A: Action> NamedFeatures<A> {
    /// The oracle takes contexts as long as the schema is wide.
    pub fn new(schema: FeatureSchema, inner: Box<dyn RegressionOracle<Context, A>>) -> Self {
        Self { schema, inner }
    }

    fn encode<'x>(&self, x: &'x Context) -> Result<Cow<'x, Context>, ContextError> {
        match x.as_named() {
            None => Ok(Cow::Borrowed(x)),
            Some(features) => Ok(Cow::Owned(self.schema.numbers(features, None)?)),
        }
    }
}

impl<A: Action> RegressionOracle<Context, A> for NamedFeatures<A> {
    fn prepare(&self, x: &Context, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        self.inner.prepare(&*self.encode(x)?, prepared)
    }

    fn predict(&self, x: &Context, prepared: &[f64], actions: &A::Batch, out: &mut [f64]) {
        let x = self
            .encode(x)
            .expect("it was prepared, which encodes it too");
        self.inner.predict(&x, prepared, actions, out);
    }

    fn learn(&mut self, batch: &[Example<'_, Context, A>]) -> Result<(), ContextError> {
        let encoded = batch
            .iter()
            .map(|example| self.encode(example.x))
            .collect::<Result<Vec<_>, _>>()?;
        let examples: Vec<Example<'_, Context, A>> = batch
            .iter()
            .zip(&encoded)
            .map(|(example, x)| Example {
                x: &**x,
                ..*example
            })
            .collect();
        self.inner.learn(&examples)
    }

    fn save(&self) -> Vec<u8> {
        self.inner.save()
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        self.inner.load(state)
    }

    fn squared_error(&self) -> Option<f64> {
        self.inner.squared_error()
    }

    fn forgotten(&self) -> f64 {
        self.inner.forgotten()
    }

    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        self.inner.monotone_pieces()
    }

    fn item_tree(&self) -> Option<&ItemTree> {
        self.inner.item_tree()
    }
}
