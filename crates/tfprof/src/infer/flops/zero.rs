//! Ops without FLOPs by definition: data movement, shapes, control flow, strings and files. They count as covered.

use super::{Count, Formula, Io};

const fn zero(ops: &'static [&'static str], io: Io) -> Formula {
    Formula { ops, count: Count::Zero, io, original: false }
}

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    // Control flow, handles, and ops that pass on their inputs.
    zero(&[
        "Abort", "Assert", "CheckNumerics", "CheckNumericsV2", "ControlTrigger", "Const", "Copy", "CopyHost",
        "DebugGradientIdentity", "DebugGradientRefIdentity", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "DeepCopy",
        "DestroyResourceOp", "DestroyTemporaryVariable", "DeviceIndex", "DisableCopyOnRead", "EnsureShape", "Enter", "Exit",
        "FakeParam", "GuaranteeConst", "HostConst", "Identity", "IdentityN", "ImmutableConst", "IsVariableInitialized",
        "LoopCond", "Merge", "MutexLock", "MutexV2", "ConsumeMutexLock", "NextIteration", "NoOp", "Placeholder",
        "PlaceholderV2", "PlaceholderWithDefault", "PreventGradient", "Print", "PrintV2", "ReadVariableOp", "RefEnter", "RefExit",
        "RefIdentity", "RefMerge", "RefNextIteration", "RefSelect", "RefSwitch", "ResourceInitializedOp", "SleepIdentityOp",
        "GetSessionHandleV2", "Snapshot", "StopGradient", "StubResourceHandleOp", "Switch", "TemporaryVariable", "Timestamp", "ToBool",
        "Parameter", "VarHandleOp", "VarIsInitializedOp", "Variable", "VariableV2", "_Arg", "_DeviceArg", "_DeviceRetval", "_EagerConst",
        "_HostRecv", "_HostSend", "_ReadVariablesOp", "_Recv", "_Retval", "_Send", "_SwitchN", "_XlaMerge", "Send", "Recv",
        "SleepOp", "SyncDevice", "DumpTensor", "DeleteSeedGenerator", "DeleteRandomSeedGenerator", "ThreadPoolHandle",
        "StatsAggregatorHandle", "StatsAggregatorHandleV2", "IsResourceHandleRefCounting", "MakeWeakResourceHandle", "GraphDefVersion",
        "CudnnRNNParamsSize", "DevicePlacementOp", "XlaOptimizationBarrier", "XlaSharding", "XlaSpmdFullToShardShape", "XlaSpmdShardToFullShape", "_XlaRecvAtHost",
        "_XlaSendFromHost", "XlaSendToHost", "XlaRecvFromHost", "TPUReplicateMetadata", "TPUReplicatedInput",
        "TPUReplicatedOutput", "TPUCompilationResult", "TPUPartitionedInput", "TPUPartitionedOutput", "_NcclReduceSend",
    ], Io::None),
    // Shapes and reshaping.
    zero(&[
        "Flatten", "BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset", "DataFormatDimMap", "DataFormatVecPermute", "ExpandDims",
        "InvertPermutation", "Rank", "Reshape", "Shape", "ShapeN", "Size", "Squeeze", "UnravelIndex", "VariableShape", "Bitcast",
        "QuantizedReshape",
    ], Io::None),
    // Lists, arrays, stacks and queues of tensors.
    zero(&[
        "SequenceOfTensors", "EmptyTensorList", "EmptyTensorMap", "TensorListConcatLists", "TensorListElementShape", "TensorListGetItem",
        "TensorListLength", "TensorListPopBack", "TensorListPushBack", "TensorListReserve", "TensorListResize",
        "TensorListSetItem", "TensorArray", "TensorArrayV2", "TensorArrayV3", "TensorArrayCloseV2", "TensorArrayCloseV3",
        "TensorArrayGradV2", "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArrayReadV2", "TensorArrayReadV3",
        "TensorArraySizeV2", "TensorArraySizeV3", "TensorArrayWriteV2", "TensorArrayWriteV3", "Stack", "StackV2", "StackClose",
        "StackCloseV2", "StackPop", "StackPopV2", "StackPush", "StackPushV2", "Stage", "StageClear", "StagePeek", "StageSize",
        "Unstage", "MapStage", "MapUnstage", "MapClear", "MapSize", "OrderedMapStage", "OrderedMapUnstage", "FIFOQueue", "FIFOQueueV2",
        "PaddingFIFOQueue", "PaddingFIFOQueueV2", "PriorityQueue", "PriorityQueueV2", "RandomShuffleQueue",
        "RandomShuffleQueueV2", "FakeQueue", "TensorMapInsert", "TensorMapErase", "TensorMapSize", "TensorMapLookup",
        "TensorMapHasKey", "TensorMapStackKeys", "OptionalFromValue", "OptionalGetValue", "OptionalHasValue", "OptionalNone",
        "ConditionalAccumulator", "SparseConditionalAccumulator", "ResourceConditionalAccumulator", "AccumulatorSetGlobalStep",
        "ResourceAccumulatorSetGlobalStep", "AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated", "CountUpTo",
        "ResourceCountUpTo", "AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient", "Batch", "Unbatch", "UnbatchGrad", "MapPeek",
        "MapIncompleteSize", "MapUnstageNoKey", "OrderedMapClear", "OrderedMapIncompleteSize", "OrderedMapPeek", "OrderedMapSize",
        "OrderedMapUnstageNoKey", "TensorArrayClose", "TensorArrayConcat", "TensorArrayGather", "TensorArrayGrad",
        "TensorArrayPack", "TensorArrayRead", "TensorArrayScatter", "TensorArraySize", "TensorArraySplit", "TensorArrayUnpack",
        "TensorArrayWrite", "CompositeTensorVariantFromComponents", "CompositeTensorVariantToComponents", "CompressElement",
        "UncompressElement", "GetElementAtIndex", "GetOptions", "RecordInput", "ComputeBatchSize",
        "InfeedDequeue", "InfeedDequeueTuple", "InfeedEnqueue", "InfeedEnqueueTuple", "OutfeedDequeue",
        "OutfeedDequeueTuple", "OutfeedEnqueue", "OutfeedEnqueueTuple",
    ], Io::None),
    // Data movement.
    zero(&[
        "Assign", "AssignVariableOp", "SparseTensorToCSRSparseMatrix", "BatchMatrixBandPart", "BatchMatrixDiag", "BatchMatrixDiagPart", "BatchToSpace",
        "BatchToSpaceND", "BroadcastTo", "Cast", "Complex", "Concat", "ConcatV2", "ConjugateTranspose", "DepthToSpace", "Diag", "DiagPart",
        "DynamicPartition", "DynamicStitch", "Empty", "ExtractImagePatches", "ExtractVolumePatches", "Fill", "Imag", "LinSpace",
        "MatrixBandPart", "MatrixDiag", "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "MatrixDiagV2", "MatrixDiagV3",
        "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "Expand", "SliceAxes", "PadEnds", "CenterCropPad", "Compress", "ResizeScaledNearest", "MirrorPad", "MirrorPadGrad", "OneHot", "OnesLike", "Pack", "Pad",
        "PadV2", "ParallelConcat", "ParallelDynamicStitch", "Range", "Real", "ResizeNearestNeighbor", "Reverse",
        "ReverseSequence", "ReverseV2", "Roll", "Select", "SelectV2", "Slice", "SpaceToBatch", "SpaceToBatchND", "SpaceToDepth", "Split",
        "SplitV", "StridedSlice", "StridedSliceAssign", "StridedSliceGrad", "ResourceStridedSliceAssign",
        "TensorArrayConcatV2", "TensorArrayConcatV3", "TensorArrayGatherV2", "TensorArrayGatherV3", "TensorArrayScatterV2",
        "TensorArrayScatterV3", "TensorArraySplitV2", "TensorArraySplitV3", "TensorListConcat", "TensorListConcatV2",
        "TensorListFromTensor", "TensorListGather", "TensorListPushBackBatch", "TensorListScatter",
        "TensorListScatterIntoExistingList", "TensorListScatterV2", "TensorListSplit", "TensorListStack",
        "TensorStridedSliceUpdate", "Tile", "TileGrad", "Transpose", "Unpack", "Where", "NonZero", "ZerosLike", "_HostCast", "DrawBoundingBoxes",
        "DrawBoundingBoxesV2", "InplaceUpdate", "BatchMatrixSetDiag", "QuantizedConcat", "QuantizedConcatV2", "CudnnRNNCanonicalToParams",
        "CudnnRNNCanonicalToParamsV2", "CudnnRNNParamsToCanonical", "CudnnRNNParamsToCanonicalV2",
    ], Io::All),
    zero(&[
        "GatherElements", "Gather", "GatherNd", "GatherV2", "ResourceGather", "ResourceGatherNd", "ResourceScatterNdUpdate",
        "ResourceScatterUpdate", "ScatterNd", "ScatterNdUpdate", "ScatterUpdate", "TensorScatterUpdate",
    ], Io::Indexed),
    // Between devices.
    zero(&[
        "CollectiveBcastRecv", "CollectiveBcastRecvV2", "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveGather",
        "CollectiveGatherV2", "CollectivePermute", "NcclBroadcast", "CopyToMesh", "CollectiveInitializeCommunicator",
        "CollectiveAssignGroupV2", "AllToAll", "CollectiveAllToAllV2", "CollectiveAllToAllV3", "Relayout", "RelayoutLike",
        "CopyToMeshGrad",
    ], Io::All),
    // Random numbers and samples.
    zero(&[
        "AllCandidateSampler", "AnonymousRandomSeedGenerator", "AnonymousSeedGenerator", "ComputeAccidentalHits",
        "DummySeedGenerator", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler", "LogUniformCandidateSampler",
        "Multinomial", "NonDeterministicInts", "ParameterizedTruncatedNormal", "RandomCrop", "RandomGamma", "RandomIndexShuffle",
        "RandomPoisson", "RandomPoissonV2", "RandomShuffle", "RandomStandardNormal", "RandomUniform", "RandomUniformInt",
        "RngReadAndSkip", "RngSkip", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatefulRandomBinomial",
        "StatefulStandardNormal", "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform",
        "StatefulUniformFullInt", "StatefulUniformInt", "StatelessMultinomial", "StatelessParameterizedTruncatedNormal",
        "StatelessRandomBinomial", "StatelessRandomGammaV2", "StatelessRandomGammaV3", "StatelessRandomGetAlg",
        "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "StatelessRandomNormal", "StatelessRandomNormalV2",
        "StatelessRandomPoisson", "StatelessRandomUniform", "StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2",
        "StatelessRandomUniformInt", "StatelessRandomUniformIntV2", "StatelessRandomUniformV2",
        "StatelessSampleDistortedBoundingBox", "StatelessShuffle", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2",
        "ThreadUnsafeUnigramCandidateSampler", "TruncatedNormal", "UniformCandidateSampler", "SobolSample",
    ], Io::All),
    // Strings, tables, files, summaries, sparse and ragged indices.
    zero(&[
        "AddManySparseToTensorsMap", "AddSparseToTensorsMap", "AnonymousHashTable", "AnonymousMutableDenseHashTable",
        "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors", "AsString", "AudioSummary", "AudioSummaryV2",
        "CloseSummaryWriter", "CreateSummaryDbWriter", "CreateSummaryFileWriter", "DecodeAndCropJpeg", "DecodeBase64", "DecodeBmp",
        "DecodeCSV", "DecodeCompressed", "DecodeGif", "DecodeImage", "DecodeJSONExample", "DecodeJpeg", "DecodePaddedRaw",
        "DecodePng", "DecodeProtoV2", "DecodeRaw", "DecodeWav", "DecodeWebP", "DeserializeIterator", "DeserializeManySparse", "DeserializeSparse",
        "EncodeBase64", "EncodeJpeg", "EncodeJpegVariableQuality", "EncodePng", "EncodeProto", "EncodeWav", "ExtractJpegShape",
        "Fingerprint", "FixedLengthRecordReader", "FixedLengthRecordReaderV2", "FlushSummaryWriter", "HashTable", "HashTableV2",
        "HistogramSummary", "IdentityReader", "IdentityReaderV2", "ImageSummary", "ImportEvent", "InitializeTable",
        "InitializeTableFromDataset", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2", "InitializeTableV2",
        "LMDBReader", "MatchingFiles", "MergeSummary", "MergeV2Checkpoints", "MutableDenseHashTable", "MutableDenseHashTableV2",
        "MutableHashTable", "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableHashTableV2", "ParseExample",
        "ParseExampleV2", "ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleExample", "ParseSingleSequenceExample",
        "ParseTensor", "RaggedCross", "RaggedGather", "RaggedRange", "RaggedTensorFromVariant", "RaggedTensorToSparse",
        "RaggedTensorToTensor", "RaggedTensorToVariant", "ReadFile", "ReduceJoin", "RegexFullMatch", "RegexReplace", "Restore",
        "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2", "ScalarSummary", "SerializeIterator",
        "SerializeManySparse", "SerializeSparse", "SerializeTensor", "ShardedFilename", "ShardedFilespec", "SparseConcat",
        "SparseCross", "SparseCrossHashed", "SparseCrossV2", "SparseFillEmptyRows", "SparseFillEmptyRowsGrad", "SparseReorder",
        "SparseReshape", "SparseSlice", "SparseSplit", "SparseToDense", "StaticRegexFullMatch", "StaticRegexReplace", "Substr",
        "SummaryWriter", "TFRecordReader", "TFRecordReaderV2", "TakeManySparseFromTensorsMap", "TensorSummary", "TensorSummaryV2",
        "TextLineReader", "TextLineReaderV2", "UnicodeDecode", "UnicodeDecodeWithOffsets", "UnicodeEncode", "UnicodeScript",
        "UnicodeTranscode", "UnsortedSegmentJoin", "WholeFileReader", "WholeFileReaderV2", "WriteAudioSummary", "WriteFile",
        "WriteGraphSummary", "WriteHistogramSummary", "WriteImageSummary", "WriteRawProtoSummary", "WriteScalarSummary",
        "WriteSummary", "Barrier",
    ], Io::None),
    zero(NAME_PATTERNS, Io::None),
];

/// Large families of ops, by patterns of their names.
const NAME_PATTERNS: &[&str] =
    &["*Dataset*", "*Iterator*", "Barrier*", "LookupTable*", "Queue*", "Reader*", "String*", "*MemoryCache"];
static BY_NAME: Formula = zero(NAME_PATTERNS, Io::None);

/// The formula of an op whose name matches one of the patterns.
pub fn by_name(op: &str) -> Option<&'static Formula> {
    let matches = |pattern: &&str| {
        let part = pattern.trim_matches('*');
        match (pattern.starts_with('*'), pattern.ends_with('*')) {
            (true, true) => op.contains(part),
            (true, false) => op.ends_with(part),
            _ => op.starts_with(part),
        }
    };
    NAME_PATTERNS.iter().any(matches).then_some(&BY_NAME)
}
