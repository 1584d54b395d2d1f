# dstrain_mpi.so, the library by which several processes of dstrain talk to each other: a module beside the program that
# loads it, with its own copy of base, hidden.

# comm_module(NAME source libraries...)
function(comm_module name source)
    add_library(${name} MODULE ${CMAKE_SOURCE_DIR}/${source})
    set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
        CXX_VISIBILITY_PRESET hidden)
    target_link_libraries(${name} PRIVATE base ${ARGN})
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
    if(NOT DS_SANITIZE) # whose own functions come with the program
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
    add_dependencies(dstrain ${name})
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

if(with_mpi)
    comm_module(dstrain_mpi trainer/comm/mpi.c MPI::MPI_C)
    target_compile_options(dstrain_mpi PRIVATE -Wno-conversion)
    target_compile_definitions(trainer PRIVATE DS_MPI=1)
endif()
