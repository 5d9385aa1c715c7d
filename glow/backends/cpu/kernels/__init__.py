"""The kernels, a folder a family; each builds loops from a specification, a target and a name.

| folder         | what                                                        |
|----------------|-------------------------------------------------------------|
| `convolution/` | direct sums over register tiles of pixels and channels      |
| `channelwise/` | depthwise convolutions and pools: a plane for each channel  |
| `winograd/`    | convolutions with fewer multiplications                     |
| `matmul/`      | matrix products, of f32, bf16 and bytes                     |
| `strassen/`    | matrix products with fewer multiplications                  |
| `attention/`   | scores, softmax and weighted sums in one kernel             |
| `recurrence/`  | steps of recurrent layers                                   |
| `elementwise/` | scalar regions over whole tensors                           |
| `reduction/`   | folds, softmax, normalizations; loop nests of any operator  |
| `quantization/`| ranges of rows and their quantization at run time           |
| `movement/`    | packing, transposition, gathers                             |
"""
