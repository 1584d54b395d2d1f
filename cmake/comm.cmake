# dstrain_gloo.so, dstrain_mpi.so and dstrain_nccl.so, the libraries for communication between processes of dstrain:
# modules in the folder of the program that loads them, each with its own hidden copy of base.

set(kinds ${CMAKE_SOURCE_DIR}/trainer/comm/kinds.c) # it lists the kinds that were built

# comm_module(NAME source libraries...)
function(comm_module name source)
    add_library(${name} MODULE ${CMAKE_SOURCE_DIR}/${source})
    set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
        CXX_VISIBILITY_PRESET hidden)
    target_link_libraries(${name} PRIVATE base ${ARGN})
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
    if(NOT DS_SANITIZE) # the program has the sanitizer's functions
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
    add_dependencies(dstrain ${name})
    add_dependencies(comm_driver ${name})
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# comm with real processes, for its tests and for a machine with GPUs; in the folder of the program, like the modules.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/comm/*.c)
add_executable(comm_driver EXCLUDE_FROM_ALL ${sources})
target_link_libraries(comm_driver PRIVATE trainer)
target_compile_options(comm_driver PRIVATE -Wno-conversion)
set_target_properties(comm_driver PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

if(with_mpi)
    comm_module(dstrain_mpi trainer/comm/mpi.c MPI::MPI_C)
    target_compile_options(dstrain_mpi PRIVATE -Wno-conversion)
    set_property(SOURCE ${kinds} APPEND PROPERTY COMPILE_DEFINITIONS DS_MPI=1)
endif()

set(with_gloo FALSE)
if(DS_GLOO)
    find_path(GLOO_INCLUDE gloo/allgatherv.h)
    find_library(GLOO_LIBRARY gloo)
    include(CheckLanguage)
    check_language(CXX)
    if(GLOO_INCLUDE AND GLOO_LIBRARY AND CMAKE_CXX_COMPILER)
        set(with_gloo TRUE)
    elseif(NOT DS_GLOO STREQUAL "AUTO")
        message(FATAL_ERROR "DS_GLOO is ${DS_GLOO}, but gloo (Debian: libgloo-dev) or a C++ compiler is not installed")
    endif()
endif()
if(NOT with_gloo)
    message(STATUS "gloo is not installed, or not wanted: dstrain has no --comm gloo")
    return()
endif()

message(STATUS "gloo: ${GLOO_LIBRARY}")
enable_language(CXX)
add_library(gloo SHARED IMPORTED)
set_target_properties(gloo PROPERTIES IMPORTED_LOCATION ${GLOO_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${GLOO_INCLUDE})
comm_module(dstrain_gloo trainer/comm/gloo.cc gloo)
set(cxx_options ${options})
list(REMOVE_ITEM cxx_options -Wstrict-prototypes -Wmissing-prototypes)
target_compile_options(dstrain_gloo PRIVATE ${cxx_options} $<$<NOT:$<CONFIG:Debug>>:-O3>)
set_target_properties(dstrain_gloo PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
set_property(SOURCE ${kinds} APPEND PROPERTY COMPILE_DEFINITIONS DS_GLOO=1)
