# Instruction sets of the levels in base/cpu.h, and of those in trainer/cpu/cpu_backend.h, which have FMA but not VBMI.
set(DS_avx2 -mavx2 -mbmi -mbmi2 -mpclmul)
set(DS_avx512 ${DS_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512vbmi)
set(DS_trainer_avx2 -mavx2 -mfma -mbmi2)
set(DS_trainer_avx512 ${DS_trainer_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
set(DS_trainer_avx512_bf16 ${DS_trainer_avx512} -mavx512bf16)
set(DS_trainer_amx ${DS_trainer_avx512_bf16} -mamx-tile -mamx-bf16)

# room(NAME LINK targets... [MAIN file]): the static library of a folder's .c files, with its libraries. Not included
# are MAIN, the folder cuda/, which is a separate module (cuda.cmake), and files that need MPI (mpi.c, …_mpi.c), NCCL
# (nccl.c), HDF5 (hdf5.c) or libarchive (libarchive.c), which belong to optional modules, and faults.c without
# DS_FAULTS. A file whose name ends in avx2.c, avx512.c, avx512_bf16.c or amx.c is compiled for that level, as defined
# by the room if it does so.
function(room name)
    cmake_parse_arguments(arg "" "MAIN" "LINK" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.c)
    list(FILTER sources EXCLUDE REGEX "/${name}/cuda/|[/_]mpi\\.c$|/nccl\\.c$|/hdf5\\.c$|/libarchive\\.c$")
    if(NOT DS_FAULTS)
        list(FILTER sources EXCLUDE REGEX "/faults\\.c$")
    endif()
    if(arg_MAIN)
        list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${arg_MAIN})
        set_property(GLOBAL PROPERTY MAIN_OF_${name} ${CMAKE_SOURCE_DIR}/${arg_MAIN})
    endif()
    foreach(level avx2 avx512 avx512_bf16 amx)
        set(flags ${DS_${level}})
        if(DS_${name}_${level})
            set(flags ${DS_${name}_${level}})
        endif()
        set(at_level ${sources})
        list(FILTER at_level INCLUDE REGEX "${level}\\.c$")
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
            set_source_files_properties(${at_level} PROPERTIES COMPILE_OPTIONS "${flags}")
        else()
            list(REMOVE_ITEM sources ${at_level} "")
        endif()
    endforeach()
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# program_module(NAME PROGRAM SOURCE LIBRARIES...): NAME.so in the folder of the program, which loads it on demand. It
# has its own hidden copy of base.
function(program_module name program source)
    add_library(${name} MODULE ${CMAKE_SOURCE_DIR}/${source})
    set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
        CXX_VISIBILITY_PRESET hidden)
    target_link_libraries(${name} PRIVATE base ${ARGN})
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
    if(NOT DS_SANITIZE) # the program has the sanitizer's functions
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
    add_dependencies(${program} ${name})
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# program(NAME room): the program with the room's MAIN, installed with its man page and completions.
function(program name room)
    get_property(main GLOBAL PROPERTY MAIN_OF_${room})
    add_executable(${name} ${main})
    target_link_libraries(${name} PRIVATE ${room})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    add_custom_command(TARGET ${name} POST_BUILD
        COMMAND ${name} --man > ${CMAKE_BINARY_DIR}/${name}.1
        COMMAND ${name} --completion > ${CMAKE_BINARY_DIR}/${name}.bash
        COMMAND ${name} --completion-zsh > ${CMAKE_BINARY_DIR}/_${name}
        COMMAND ${name} --completion-fish > ${CMAKE_BINARY_DIR}/${name}.fish
        VERBATIM)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${CMAKE_BINARY_DIR}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME ${name})
    install(FILES ${CMAKE_BINARY_DIR}/_${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()
