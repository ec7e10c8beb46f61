# What foldsym_symbols runs in a build: converts PROGRAM into OUTPUT by the command FOLDSYM, with the options behind `--`.
#
# EXPECTED    the name that OUTPUT must have, known only now
# IF_MISSING  converts only if OUTPUT does not exist
# OBJCOPY     puts OUTPUT into the section `.fsym` of PROGRAM by this command, and removes it
# STORE       adds OUTPUT to this store
if(EXPECTED AND NOT EXPECTED STREQUAL OUTPUT)
    message(FATAL_ERROR "foldsym_symbols: the symbols of ${PROGRAM} would be\n  ${OUTPUT}\nand must be\n  ${EXPECTED}\n"
        "Call foldsym_symbols after the properties that name the file are set.")
endif()
if(IF_MISSING AND EXISTS "${OUTPUT}")
    # Each link has made it. It is to be newer than the program for the build tool.
    file(TOUCH_NOCREATE "${OUTPUT}")
    return()
endif()
set(options)
set(is_option FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
    if(is_option)
        list(APPEND options "${CMAKE_ARGV${index}}")
    elseif(CMAKE_ARGV${index} STREQUAL "--")
        set(is_option TRUE)
    endif()
endforeach()

# Runs a command; one that fails ends the build.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
    if(NOT result STREQUAL "0")
        file(REMOVE "${OUTPUT}")
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "foldsym_symbols: ${result}: ${command}")
    endif()
endfunction()

run("${FOLDSYM}" convert "${PROGRAM}" -o "${OUTPUT}" ${options})
if(STORE)
    run("${FOLDSYM}" store add "${STORE}" "${OUTPUT}")
endif()
if(OBJCOPY)
    run("${OBJCOPY}" --add-section ".fsym=${OUTPUT}" "${PROGRAM}")
    file(REMOVE "${OUTPUT}")
endif()
