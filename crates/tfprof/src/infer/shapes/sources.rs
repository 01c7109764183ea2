//! Sources of tensors: constants, placeholders, variables, random numbers, iterators and queues.

use super::super::constant;
use super::super::fact::{ANY, Fact, Shape};
use super::{Family, Op, none, one, scalar, shape_from, typed};
use crate::model::attr_value;
use crate::model::dtype::DType;
use crate::model::lowered::PARAMETER;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&[PARAMETER], |op| typed(op.dtype("dtype"), op.stated_shape("shape"))),
    (&["Const", "HostConst"], |op| vec![op.attribute("value").and_then(constant::constant).unwrap_or_default()]),
    (&["Placeholder"], placeholder),
    (&["PlaceholderV2"], |op| typed(op.dtype("dtype"), op.stated_shape("shape"))),
    (&["_Arg", "_DeviceArg"], argument),
    (&["ImmutableConst", "FakeParam"], |op| typed(op.dtype("dtype"), op.stated_shape("shape"))),
    (&["Variable", "VariableV2", "TemporaryVariable"], |op| typed(op.dtype("dtype"), op.stated_shape("shape"))),
    (&["VarHandleOp", "_XlaAotOnlyVarHandleOp"], |op| {
        vec![Fact::handle(op.dtype("dtype"), op.stated_shape("shape"))]
    }),
    (&["ReadVariableOp", "_ReadVariablesOp", "_XlaAotOnlyReadVariableOp"], |op| {
        let held = op.input(0).held.as_deref();
        let (dtype, shape) = held.map_or((DType::UNKNOWN, Shape::UNKNOWN), |held| (held.dtype, held.shape.clone()));
        typed(op.dtype_or("dtype", dtype), shape)
    }),
    (&["IsVariableInitialized", "VarIsInitializedOp", "ResourceInitializedOp"], |_| typed(DType::BOOL, Shape::scalar())),
    (&[
        "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "StatelessRandomUniform", "StatelessRandomNormal",
        "StatelessTruncatedNormal", "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2",
        "StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2", "StatelessRandomUniformInt",
        "StatelessRandomUniformIntV2", "ParameterizedTruncatedNormal", "StatelessRandomGammaV2", "StatelessRandomGammaV3",
        "StatelessRandomBinomial", "StatelessRandomPoisson", "StatelessParameterizedTruncatedNormal",
    ], |op| typed(op.dtype_or("dtype", DType::FLOAT), shape_from(op.input(0)))),
    (&["RandomUniformInt"], |op| typed(op.dtype("Tout"), shape_from(op.input(0)))),
    (&[
        "StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniformFullInt",
        "StatefulUniformInt",
    ], |op| typed(op.dtype_or("dtype", DType::FLOAT), shape_from(op.input(2)))),
    (&["StatefulStandardNormal", "NonDeterministicInts", "Empty"], |op| {
        let at = usize::from(op.inputs.len() > 1);
        typed(op.dtype_or("dtype", DType::FLOAT), shape_from(op.input(at)))
    }),
    (&["RandomShuffle", "StatelessShuffle"], |op| typed(op.t(), op.shape(0).clone())),
    (&["RandomGamma", "RandomPoisson", "RandomPoissonV2"], |op| {
        let Some((shape, rate)) = shape_from(op.input(0)).dims().zip(op.shape(1).dims()).map(|(a, b)| (a.to_vec(), b))
        else {
            return typed(op.input(1).dtype, Shape::UNKNOWN);
        };
        typed(op.dtype_or("dtype", op.input(1).dtype), Shape::of(&[&shape, rate].concat()))
    }),
    (&["Multinomial", "StatelessMultinomial"], |op| {
        let dims = [op.shape(0).dim(0), op.input(1).integer().unwrap_or(-1)];
        typed(op.dtype_or("output_dtype", DType::INT64), Shape::of(&dims))
    }),
    (&["StatelessRandomGetKeyCounter"], |_| {
        vec![Fact::new(DType(23), Shape::of(&[1])), Fact::new(DType(23), Shape::of(&[2]))]
    }),
    (&["StatelessRandomGetKeyCounterAlg"], |_| {
        let key = |dims: &[i64]| Fact::new(DType(23), Shape::of(dims));
        vec![key(&[1]), key(&[2]), Fact::new(DType::INT32, Shape::scalar())]
    }),
    (&["StatelessRandomGetAlg"], |_| typed(DType::INT32, Shape::scalar())),
    (&["RngReadAndSkip"], |op| typed(op.input(0).held.as_ref().map_or(DType::INT64, |held| held.dtype), Shape::of_rank(1))),
    (&["RngSkip"], none),
    (&["RandomIndexShuffle"], |op| typed(op.dtype("dtype"), op.shape(0).clone())),
    (&["IteratorGetNext", "IteratorGetNextSync", "MultiDeviceIteratorGetNextFromShard", "DatasetToSingleElement",
       "OptionalGetValue", "ReduceDataset", "GetElementAtIndex"], |op| components(op, "output_types", "output_shapes")),
    (&["QueueDequeue", "QueueDequeueV2"], |op| dequeued(op, None)),
    (&["QueueDequeueMany", "QueueDequeueManyV2"], |op| dequeued(op, Some(op.input(1).integer().unwrap_or(ANY)))),
    (&["QueueDequeueUpTo", "QueueDequeueUpToV2"], |op| dequeued(op, Some(ANY))),
    (&["Unstage", "StagePeek", "MapUnstage", "OrderedMapUnstage"], |op| {
        op.dtypes("dtypes").into_iter().map(|dtype| Fact::new(dtype, Shape::UNKNOWN)).collect()
    }),
    (&["InfeedDequeueTuple", "OutfeedDequeueTuple"], |op| components(op, "dtypes", "shapes")),
    (&["InfeedDequeue", "OutfeedDequeue"], |op| typed(op.dtype("dtype"), op.stated_shape("shape"))),
    (&["QueueSize", "QueueSizeV2", "StageSize", "MapSize"], |_| typed(DType::INT32, Shape::scalar())),
    (&["OptionalHasValue", "QueueIsClosed", "QueueIsClosedV2"], |_| typed(DType::BOOL, Shape::scalar())),
    (&[
        "QueueEnqueue", "QueueEnqueueV2", "QueueEnqueueMany", "QueueEnqueueManyV2", "QueueClose", "QueueCloseV2",
        "Stage", "StageClear", "MapStage", "MapClear", "OrderedMapStage", "MakeIterator", "DeleteIterator", "InitializeTable",
        "InitializeTableV2", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2", "InitializeTableFromDataset",
        "LookupTableImport", "LookupTableImportV2", "LookupTableInsert", "LookupTableInsertV2", "LookupTableRemoveV2",
        "Save", "SaveV2", "SaveSlices", "MergeV2Checkpoints", "WriteFile", "CloseSummaryWriter", "FlushSummaryWriter",
        "CreateSummaryFileWriter", "CreateSummaryDbWriter", "WriteScalarSummary", "WriteHistogramSummary",
        "WriteImageSummary", "WriteAudioSummary", "WriteGraphSummary", "WriteRawProtoSummary", "WriteSummary", "ImportEvent",
        "DeleteMemoryCache", "DeleteRandomSeedGenerator", "DeleteSeedGenerator", "DeleteMultiDeviceIterator",
        "DestroyResourceOp", "DisableCopyOnRead", "InfeedEnqueue", "InfeedEnqueueTuple", "OutfeedEnqueue",
    ], none),
    (&[
        "HashTableV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2", "AnonymousHashTable",
        "AnonymousMutableHashTable", "FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2", "Iterator",
        "IteratorV2", "OneShotIterator", "AnonymousIteratorV3", "SummaryWriter", "MutexV2",
        "ResourceConditionalAccumulator", "AnonymousMemoryCache", "AnonymousRandomSeedGenerator", "AnonymousSeedGenerator",
        "TFRecordReaderV2", "TextLineReaderV2", "FixedLengthRecordReaderV2", "IdentityReaderV2", "WholeFileReaderV2",
        "StatsAggregatorHandle", "MultiDeviceIterator", "BoostedTreesEnsembleResourceHandleOp", "StubResourceHandleOp",
        "ThreadPoolHandle", "DummyMemoryCache", "DummySeedGenerator",
    ], |_| typed(DType::RESOURCE, Shape::scalar())),
    (&[
        "HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable", "FIFOQueue", "PaddingFIFOQueue",
        "RandomShuffleQueue", "PriorityQueue", "FakeQueue", "TextLineReader", "TFRecordReader", "FixedLengthRecordReader",
        "WholeFileReader", "IdentityReader", "LMDBReader", "ConditionalAccumulator", "SparseConditionalAccumulator", "Barrier",
    ], |_| typed(DType::STRING, Shape::of(&[2]))),
    (&["StackV2", "Stack"], |_| typed(DType::RESOURCE, Shape::of(&[2]))),
    (&["AnonymousIterator", "AnonymousIteratorV2"], |_| {
        vec![Fact::new(DType::RESOURCE, Shape::scalar()), Fact::new(DType::VARIANT, Shape::scalar())]
    }),
    (&["LookupTableFind", "LookupTableFindV2"], |op| {
        // The values of a table are scalars, or tensors like the default.
        let shape = op.shape(1).dims().zip(op.shape(2).dims()).map(|(keys, value)| Shape::of(&[keys, value].concat()));
        typed(op.dtype("Tout"), shape.unwrap_or_default())
    }),
    (&["LookupTableExport", "LookupTableExportV2"], |op| {
        vec![Fact::new(op.dtype("Tkeys"), Shape::UNKNOWN), Fact::new(op.dtype("Tvalues"), Shape::UNKNOWN)]
    }),
    (&["GetSessionHandleV2"], |_| typed(DType::RESOURCE, Shape::scalar())),
    (&["Batch"], |op| {
        let unsized_batch = |input: &Fact| {
            let dims = input.shape.dims().and_then(|dims| dims.get(1..)).map(|dims| Shape::of(&[&[ANY], dims].concat()));
            Fact::new(input.dtype, dims.unwrap_or_default())
        };
        let mut facts: Vec<Fact> = op.inputs.iter().map(unsized_batch).collect();
        facts.extend([Fact::new(DType::INT64, Shape::of(&[ANY, 3])), Fact::new(DType::INT64, Shape::scalar())]);
        facts
    }),
    (&["Unbatch"], |op| {
        let dims = op.shape(0).dims().and_then(|dims| dims.get(1..)).map(|dims| Shape::of(&[&[ANY], dims].concat()));
        one(op, dims.unwrap_or_default())
    }),
    (&["LookupTableSize", "LookupTableSizeV2", "DatasetCardinality", "ExperimentalDatasetCardinality"], |_| {
        typed(DType::INT64, Shape::scalar())
    }),
    (&["Restore", "RestoreSlice"], |op| typed(op.dtype("dt"), Shape::UNKNOWN)),
    (&["RestoreV2"], |op| op.dtypes("dtypes").into_iter().map(|dtype| Fact::new(dtype, Shape::UNKNOWN)).collect()),
    (&["ReaderReadV2", "ReaderRead"], |_| vec![Fact::new(DType::STRING, Shape::scalar()); 2]),
    (&["ReaderNumRecordsProduced", "ReaderNumRecordsProducedV2", "ReaderNumWorkUnitsCompleted",
       "ReaderNumWorkUnitsCompletedV2"], |_| typed(DType::INT64, Shape::scalar())),
    (&["AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient"], |op| typed(op.dtype("dtype"), Shape::UNKNOWN)),
    (&["AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient", "AccumulatorSetGlobalStep",
       "ResourceAccumulatorSetGlobalStep"], none),
    (&["MutexLock", "CountUpTo"], scalar),
    (&["PyFunc", "PyFuncStateless", "EagerPyFunc"], |op| {
        op.dtypes("Tout").into_iter().map(|dtype| Fact::new(dtype, Shape::UNKNOWN)).collect()
    }),
];

/// The last version of TensorFlow's graphs that wrote an unknown shape as an empty one.
const EMPTY_IS_UNKNOWN: i64 = 21;

/// The attribute `shape`. As TensorFlow: in an old graph, or one of unknown age, an empty shape is unknown.
fn placeholder(op: &Op<'_>) -> Vec<Fact> {
    let shape = op.stated_shape("shape");
    let is_unknown = op.body.producer <= EMPTY_IS_UNKNOWN && shape.rank() == Some(0);
    typed(op.dtype("dtype"), if is_unknown { Shape::UNKNOWN } else { shape })
}

/// An argument of a function whose caller is unknown.
fn argument(op: &Op<'_>) -> Vec<Fact> {
    let dtype = op.dtype("T");
    if dtype == DType::RESOURCE {
        let dtypes = op.dtypes("_handle_dtypes");
        let shapes = op.stated_shapes("_handle_shapes");
        if let (Some(dtype), Some(shape)) = (dtypes.first(), shapes.first()) {
            return vec![Fact::handle(*dtype, shape.clone())];
        }
    }
    typed(dtype, Shape::UNKNOWN)
}

/// Outputs from two attributes: a list of types and a list of shapes.
fn components(op: &Op<'_>, types: &str, shapes: &str) -> Vec<Fact> {
    let mut shapes = op.stated_shapes(shapes).into_iter();
    let fact = |dtype| Fact::new(dtype, shapes.next().unwrap_or_default());
    op.dtypes(types).into_iter().map(fact).collect()
}

/// The outputs of a dequeue: the shapes of the queue's components, with `count` in front for a batch.
fn dequeued(op: &Op<'_>, count: Option<i64>) -> Vec<Fact> {
    let queue =
        op.body.inputs(op.node).first().map(|handle| handle.node).filter(|node| (*node as usize) < op.body.len());
    let mut shapes = queue
        .and_then(|queue| op.body.attribute(queue, "shapes"))
        .map(attr_value::shapes)
        .unwrap_or_default()
        .into_iter();
    let fact = |dtype| {
        let shape = shapes.next().unwrap_or_default();
        let shape = match (count, shape.dims()) {
            (Some(count), Some(dims)) => Shape::of(&[&[count], dims].concat()),
            _ => shape,
        };
        Fact::new(dtype, shape)
    };
    op.dtypes("component_types").into_iter().map(fact).collect()
}
