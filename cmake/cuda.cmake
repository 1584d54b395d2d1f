# dstrain_cuda.so, the CUDA backend, beside the program that loads it: .c files by the C compiler, .cu files by nvcc.
# It has its own copy of base, hidden, so that the program exports nothing for it and runs where no CUDA library is.
# Machine code for Hopper; every other card from compute capability 8.0 on gets its own from the PTX, when it first
# runs.
set(CMAKE_CUDA_ARCHITECTURES 90-real 80-virtual CACHE STRING "Code for these cards")
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)
find_package(CUDAToolkit 12.5 REQUIRED)
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -g -lineinfo")
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -lineinfo")

set_target_properties(base PROPERTIES POSITION_INDEPENDENT_CODE ON)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/trainer/cuda/*.c ${CMAKE_SOURCE_DIR}/trainer/cuda/*.cu)
add_library(dstrain_cuda MODULE ${sources})
target_compile_options(dstrain_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:C>:-Wno-conversion -Wdouble-promotion>
    $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings -Xcompiler=-Wall,-Wextra>)
set_target_properties(dstrain_cuda PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    C_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden INSTALL_RPATH_USE_LINK_PATH ON)
target_include_directories(dstrain_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(dstrain_cuda PRIVATE base CUDA::cudart_static CUDA::cublasLt)
target_link_options(dstrain_cuda PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
target_compile_definitions(trainer PRIVATE DS_CUDA=1)
add_dependencies(dstrain dstrain_cuda)
install(TARGETS dstrain_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})

# A dataset for measuring, where there is no dump.
add_executable(make_shards ${CMAKE_SOURCE_DIR}/tests/bench/make_shards.c)
target_link_libraries(make_shards PRIVATE shards)
set_target_properties(make_shards PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# The backend against the CPU's, where there is a GPU; beside the module, as the program is.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/gpu/*.c)
add_executable(dstrain_cuda_test ${sources})
target_link_libraries(dstrain_cuda_test PRIVATE trainer)
target_compile_options(dstrain_cuda_test PRIVATE -Wno-conversion)
target_compile_definitions(dstrain_cuda_test PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}")
set_target_properties(dstrain_cuda_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_dependencies(dstrain_cuda_test dstrain_cuda)
add_test(NAME cuda_gpu COMMAND dstrain_cuda_test)
set_tests_properties(cuda_gpu PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu)
