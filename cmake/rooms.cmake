# room(NAME LINK targets... [MAIN file]): the static library of a folder's .c files (MAIN left out), with its libraries.
function(room name)
    cmake_parse_arguments(arg "" "MAIN" "LINK" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.c)
    if(arg_MAIN)
        list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${arg_MAIN})
        set_property(GLOBAL PROPERTY MAIN_OF_${name} ${CMAKE_SOURCE_DIR}/${arg_MAIN})
    endif()
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# program(NAME room): the program whose main the room named; installed with its man page and completion.
function(program name room)
    get_property(main GLOBAL PROPERTY MAIN_OF_${room})
    add_executable(${name} ${main})
    target_link_libraries(${name} PRIVATE ${room})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    add_custom_command(TARGET ${name} POST_BUILD
        COMMAND ${name} --man > ${CMAKE_BINARY_DIR}/${name}.1
        COMMAND ${name} --completion > ${CMAKE_BINARY_DIR}/${name}.bash
        VERBATIM)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${CMAKE_BINARY_DIR}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME ${name})
endfunction()
