# find_package(foldsym [VERSION] [COMPONENTS cli foldsym embedded unwind crash]): what is installed beside this file.
#
# foldsym::foldsym         the shared library, with everything; foldsym::foldsym_static is the same as an archive
# foldsym::embedded        the archive for signal handlers: looks addresses up
# foldsym::unwind          the archive for signal handlers that walks frames
# foldsym::crash           the crash handler (foldsym_crash.h)
# foldsym::cli             the command, of this machine
# foldsym_symbols(TARGET)  makes symbols after each link (foldsymSymbols.cmake)
#
# FOLDSYM_EXECUTABLE names another command than the one beside this package or in PATH.

get_filename_component(_foldsym_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
# Found by way of a linked folder, as /lib is one to /usr/lib: the headers are beside the folder itself.
if(NOT EXISTS "${_foldsym_prefix}/include/foldsym.h")
    get_filename_component(_foldsym_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
    get_filename_component(_foldsym_prefix "${_foldsym_prefix}/../../.." ABSOLUTE)
endif()

# Adds a library, if its file is installed.
macro(_foldsym_library name kind file)
    if(NOT TARGET foldsym::${name} AND EXISTS "${_foldsym_prefix}/lib/${file}")
        add_library(foldsym::${name} ${kind} IMPORTED)
        set_target_properties(foldsym::${name} PROPERTIES
            IMPORTED_LOCATION "${_foldsym_prefix}/lib/${file}"
            INTERFACE_INCLUDE_DIRECTORIES "${_foldsym_prefix}/include")
    endif()
endmacro()

string(REGEX MATCH "^[0-9]+" _foldsym_major "@version@")
_foldsym_library(foldsym SHARED "libfoldsym_capi.so.${_foldsym_major}")
_foldsym_library(foldsym_static STATIC libfoldsym_capi.a)
file(GLOB _foldsym_archives "${_foldsym_prefix}/lib/libfoldsym_*.a")
foreach(_foldsym_archive IN LISTS _foldsym_archives)
    get_filename_component(_foldsym_name "${_foldsym_archive}" NAME)
    string(REGEX REPLACE "^libfoldsym_(.*)\\.a$" "\\1" _foldsym_name "${_foldsym_name}")
    if(NOT _foldsym_name STREQUAL "capi")
        _foldsym_library(${_foldsym_name} STATIC "libfoldsym_${_foldsym_name}.a")
    endif()
endforeach()
if(TARGET foldsym::foldsym)
    set_target_properties(foldsym::foldsym PROPERTIES IMPORTED_SONAME "libfoldsym_capi.so.${_foldsym_major}")
endif()
if(TARGET foldsym::foldsym_static)
    set_target_properties(foldsym::foldsym_static PROPERTIES INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()

if(TARGET foldsym::crash)
    set_target_properties(foldsym::crash PROPERTIES INTERFACE_LINK_LIBRARIES "pthread")
endif()

# In a build for another machine, the command beside the package may be that machine's: it is taken if it runs here.
set(_foldsym_beside)
if(EXISTS "${_foldsym_prefix}/bin/foldsym")
    set(_foldsym_beside "${_foldsym_prefix}/bin")
    if(CMAKE_CROSSCOMPILING)
        execute_process(COMMAND "${_foldsym_prefix}/bin/foldsym" --version
            RESULT_VARIABLE _foldsym_ran OUTPUT_QUIET ERROR_QUIET)
        if(NOT _foldsym_ran STREQUAL "0")
            set(_foldsym_beside)
        endif()
    endif()
endif()
if(FOLDSYM_EXECUTABLE AND NOT EXISTS "${FOLDSYM_EXECUTABLE}")
    unset(FOLDSYM_EXECUTABLE CACHE) # it was moved since
endif()
find_program(FOLDSYM_EXECUTABLE foldsym HINTS ${_foldsym_beside}
    NO_CMAKE_FIND_ROOT_PATH NO_CMAKE_PATH NO_CMAKE_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH
    DOC "The command foldsym, which runs on this machine")
mark_as_advanced(FOLDSYM_EXECUTABLE)
if(FOLDSYM_EXECUTABLE AND NOT TARGET foldsym::cli)
    add_executable(foldsym::cli IMPORTED)
    set_target_properties(foldsym::cli PROPERTIES IMPORTED_LOCATION "${FOLDSYM_EXECUTABLE}")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/foldsymSymbols.cmake")

foreach(_foldsym_name IN LISTS foldsym_FIND_COMPONENTS)
    if(TARGET foldsym::${_foldsym_name})
        set(foldsym_${_foldsym_name}_FOUND TRUE)
    else()
        set(foldsym_${_foldsym_name}_FOUND FALSE)
        if(foldsym_FIND_REQUIRED_${_foldsym_name})
            set(foldsym_FOUND FALSE)
            set(foldsym_NOT_FOUND_MESSAGE "foldsym::${_foldsym_name} is neither in ${_foldsym_prefix} nor, if it is the command, in PATH")
        endif()
    endif()
endforeach()
