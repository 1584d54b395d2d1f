# DS_STATIC: everything is linked from archives. Modules that a program loads at run time (gloo, MPI, CUDA) and
# libraries that exist only as shared objects are left out.
foreach(part MPI GLOO CUDA HDF5 ARCHIVE)
    if("${DS_${part}}" STREQUAL "ON")
        message(FATAL_ERROR "DS_STATIC and DS_${part} exclude each other: a static program loads no libraries")
    endif()
    set(DS_${part} OFF)
endforeach()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_compile_definitions(DS_STATIC=1)
add_compile_options(-fPIE)
add_link_options(-static-pie)
include(CheckLinkerFlag)
check_linker_flag(C LINKER:--no-warnings DS_QUIET_LINKER)
if(DS_QUIET_LINKER) # glibc warns about getaddrinfo, which is used only for numeric addresses
    add_link_options(LINKER:--no-warnings)
endif()
