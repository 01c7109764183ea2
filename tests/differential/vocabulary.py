"""The building blocks of random models: names, ops, devices, sizes, and the probability of each trait."""

INT64_MAX = (1 << 63) - 1
# fmt: off
# How often a model has each trait.
TRAITS = {
    'odd_names': .3, 'slashes': .35, 'gradients': .5, 'empty_graph': .02,
    'cycles': .35, 'missing_inputs': .15, 'odd_inputs': .05, 'twice_defined': .2,
    'attrs': .4, 'odd_shapes': .5, 'overflow': .05, 'library': .1,
    'no_runs': .1, 'gpu': .6, 'odd_devices': .35, 'run_only': .5, 'no_start': .3,
    'negative_times': .06, 'same_step': .3, 'no_step_stats': .05, 'memory': .75,
    'no_log': .07, 'traces': .85, 'empty_traces': .05, 'unknown_ids': .04, 'odd_log': .3,
}
PIECES = ['a', 'b', 'c', 'ab', 'a_b', 'A', 'w', 'x1', 'x9', 'x10', 'conv', 'conv_1',
          'BatchNorm', 'layer.0', 't-1', '_u', 'loss', 'train', 'save', 'MatMul']
ODD_PIECES = ['été', '日本', '\U0001f600', 'sp ace', 'q"uote', 'back\\slash', 'tab\t', '<x>',
              '(p)', '[0]', 'a+b', 'a|b', '100%', 'two\nlines', '\x01', "it's", 'x:0', '^a',
              'a' * 60]
OPS = ['VariableV2', 'Variable', 'VarHandleOp', 'Placeholder', 'Const', 'MatMul', 'Conv2D',
       'Add', 'Relu', 'Identity', 'NoOp', 'BatchNorm', 'FusedBatchNorm',
       'Conv2DBackpropFilter', 'ResourceSparseApplyAdagradV2']
ODD_OPS = ['', 'Opération', 'A.B', 'A|B', 'a', 'Const ', 'matmul']
CPUS = ['/job:localhost/replica:0/task:0/device:CPU:0', '/cpu:0', '/device:cpu:12',
        '/job:ps/replica:0/task:1/device:CPU:0']
GPUS = ['/job:localhost/replica:0/task:0/device:GPU:0', '/gpu:0', '/device:GPU:1',
        '/job:worker/task:2/gpu:3', '/DEVICE:gPu:1']
STREAMS = ['/stream:all', '/stream:all', '/stream:all', '/stream:13', '/memcpy',
           '/STREAM:ALL', '/stream:all#2']
ODD_DEVICES = ['/device:TPU:0', '/device:XLA_GPU:0', '/device:XLA_CPU:0', 'gpu:0', '',
               '/cpu:0/x', '/host:CPU', '/job:a/gpu:1/cpu:0', '/device:gpu:x', '/gpu:0 ',
               '/job:été/cpu:0', '/CPU:0']
ALLOCATORS = ['cpu', 'GPU_0_bfc', 'GPU_0_bfc', 'gpu_bfc', 'cuda_host_bfc', 'myGPU', '']
# Sizes near the places where the formats change and where rounding ties are.
AMOUNTS = [0, 1, 2, 3, 7, 10, 64, 100, 256, 512, 999, 1000, 1005, 1125, 1375, 4096, 9995,
           12345, 100000, 999994, 999995, 999999, 1000000, 1125000, 2999010, 999995000,
           1000000000, 1234567890123]
TYPES = ['_trainable_variables', '_checkpoint_variables', 'my_type', 'my_type_2', 'Const',
         '/device:gpu:0', 'тип', 'a|b', '']
FILES = ['/model/main.py', '/model/net/layers.py', '/other/main.py', '/model/été.py',
         '/model/日本/\U0001f600.py', '/model/dir.py/', 'noext', '.hidden', 'a.b.c.py', '',
         '/usr/lib/python3.11/site-packages/lib/nn.py']
FUNCTIONS = ['main', 'build', '<module>', '<lambda>', 'f', '', 'nineteen_chars_fn__',
             'exactly_twenty_chars', 'a_function_with_a_name_that_goes_on', 'é' * 9,
             'seventeen_ascii__é_and_more', 'with:colon', 'f (gradient)', 'call']


# fmt: on
def chance(rng, p):
    return rng.random() < p


def amount(rng, top=INT64_MAX):
    """A size: one of the telling ones, or any small one."""
    if chance(rng, 0.5):
        return rng.randrange(2000)
    return rng.choice([a for a in AMOUNTS if a <= top])
