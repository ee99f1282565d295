# What llama-cpp-python is built with here: the server needs one library, for processors, compiled in two minutes and not in ten.
set(LLAMA_BUILD_COMMON OFF)
set(LLAVA_BUILD OFF)
set(LLAMA_OPENSSL OFF)
set(GGML_NATIVE OFF)
set(GGML_OPENMP OFF)
set(GGML_LLAMAFILE OFF)
set(GGML_CPU_REPACK OFF)
set(GGML_CCACHE OFF)
set(CMAKE_C_FLAGS_RELEASE -O1)
set(CMAKE_CXX_FLAGS_RELEASE -O1)
add_compile_options(-fno-sanitize=undefined)  # zig, where it is the compiler, would check for what no library here has
