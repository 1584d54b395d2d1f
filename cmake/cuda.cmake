# dstrain_cuda.so, the CUDA backend, in the folder of the program that loads it: .c files are compiled by the C
# compiler, .cu files by nvcc. It has its own hidden copy of base, so that the program exports nothing for it and runs
# without CUDA libraries. It has machine code for Hopper; for any other GPU from compute capability 8.0 on, the driver
# compiles the PTX at the first run.
set(CMAKE_CUDA_ARCHITECTURES 90-real 80-virtual CACHE STRING "Code for these cards")
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)
find_package(CUDAToolkit 12.5 REQUIRED)

# cuBLASLt from the toolkit, else from the Python package nvidia-cublas, which has no libcublasLt.so.
if(TARGET CUDA::cublasLt)
    get_target_property(cublaslt CUDA::cublasLt IMPORTED_LOCATION)
else()
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(';'.join(sys.path[1:]))"
        OUTPUT_VARIABLE python_path OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(places nvidia/cu${CUDAToolkit_VERSION_MAJOR} nvidia/cublas)
    list(TRANSFORM places APPEND /lib OUTPUT_VARIABLE library_places)
    list(TRANSFORM places APPEND /include OUTPUT_VARIABLE include_places)
    find_library(CUBLASLT NAMES libcublasLt.so.${CUDAToolkit_VERSION_MAJOR} PATHS ${python_path}
        PATH_SUFFIXES ${library_places} NO_DEFAULT_PATH REQUIRED)
    find_path(CUBLASLT_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${python_path}
        PATH_SUFFIXES ${include_places} REQUIRED)
    add_library(CUDA::cublasLt UNKNOWN IMPORTED)
    set_target_properties(CUDA::cublasLt PROPERTIES IMPORTED_LOCATION ${CUBLASLT}
        INTERFACE_INCLUDE_DIRECTORIES ${CUBLASLT_INCLUDE})
    set(cublaslt ${CUBLASLT})
    message(STATUS "cuBLASLt: ${CUBLASLT}, of Python's nvidia-cublas")
endif()
get_filename_component(cublaslt_directory ${cublaslt} DIRECTORY)

set(wheels "$ORIGIN/../nvidia") # Python's nvidia-cublas and nvidia-nccl, beside the folder of dsdata's own wheel

set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -g -lineinfo")
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -lineinfo")

set_target_properties(base PROPERTIES POSITION_INDEPENDENT_CODE ON)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/trainer/cuda/*.c ${CMAKE_SOURCE_DIR}/trainer/cuda/*.cu)
add_library(dstrain_cuda MODULE ${sources})
target_compile_options(dstrain_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:C>:-Wno-conversion -Wdouble-promotion>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-unused-function>
    $<$<AND:$<BOOL:${DS_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:--Werror=all-warnings>)
set_target_properties(dstrain_cuda PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    C_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
    INSTALL_RPATH "$ORIGIN;${wheels}/cu${CUDAToolkit_VERSION_MAJOR}/lib;${wheels}/cublas/lib;${cublaslt_directory}")
target_include_directories(dstrain_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(dstrain_cuda PRIVATE base CUDA::cudart_static CUDA::cublasLt)
target_link_options(dstrain_cuda PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL
    -static-libstdc++ -static-libgcc) # so that it loads without C++ libraries
target_compile_definitions(trainer PRIVATE DS_CUDA=1)
add_dependencies(dstrain dstrain_cuda)
install(TARGETS dstrain_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})

# dstrain_nccl.so: sums between GPUs. NCCL from the system, from the toolkit, else from the Python package nvidia-nccl.
set(with_nccl FALSE)
if(DS_NCCL)
    if(NOT Python3_FOUND)
        find_package(Python3 COMPONENTS Interpreter)
    endif()
    execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(';'.join(sys.path[1:]))"
        OUTPUT_VARIABLE python_path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_path(NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${python_path}
        PATH_SUFFIXES nvidia/nccl/include)
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${python_path}
        PATH_SUFFIXES nvidia/nccl/lib)
    if(NCCL_INCLUDE AND NCCL_LIBRARY)
        set(with_nccl TRUE)
    elseif(NOT DS_NCCL STREQUAL "AUTO")
        message(FATAL_ERROR "DS_NCCL is ${DS_NCCL}, but NCCL (libnccl-dev, or Python's nvidia-nccl-cu13) is not installed")
    endif()
endif()
if(with_nccl)
    message(STATUS "NCCL: ${NCCL_LIBRARY}")
    comm_module(dstrain_nccl trainer/comm/nccl.c CUDA::cudart_static ${NCCL_LIBRARY})
    set_target_properties(dstrain_nccl PROPERTIES INSTALL_RPATH "$ORIGIN;${wheels}/nccl/lib")
    target_include_directories(dstrain_nccl SYSTEM PRIVATE ${NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_options(dstrain_nccl PRIVATE -Wno-conversion)
    set_property(SOURCE ${kinds} APPEND PROPERTY COMPILE_DEFINITIONS DS_NCCL=1)
else()
    message(STATUS "NCCL is not installed, or not wanted: dstrain has no --comm nccl")
endif()

# Makes a dataset for benchmarks without a dump.
add_executable(make_shards ${CMAKE_SOURCE_DIR}/tests/bench/make_shards.c)
target_link_libraries(make_shards PRIVATE shards)
set_target_properties(make_shards PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# Compares the backend with the CPU's, on a GPU; in the folder of the module, like the program.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/gpu/*.c)
add_executable(dstrain_cuda_test ${sources})
target_link_libraries(dstrain_cuda_test PRIVATE trainer)
target_compile_options(dstrain_cuda_test PRIVATE -Wno-conversion)
target_compile_definitions(dstrain_cuda_test PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}")
set_target_properties(dstrain_cuda_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_dependencies(dstrain_cuda_test dstrain_cuda)
add_test(NAME cuda_gpu COMMAND dstrain_cuda_test)
set_tests_properties(cuda_gpu PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu)

# For dstrain doctor --gpu.
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/scripts/gpu_check.sh ${CMAKE_BINARY_DIR}/gpu_check.sh SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/tests/golden/curve-mini.txt ${CMAKE_BINARY_DIR}/curve-mini.txt SYMBOLIC)
