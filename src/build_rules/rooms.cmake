# A room is a folder of src/ built as an OBJECT library; the libraries are put together from rooms.
add_library(tenon_options INTERFACE)
target_compile_options(tenon_options INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wno-restrict -fno-math-errno -ffp-contract=off)
target_include_directories(tenon_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/capi ${PROJECT_BINARY_DIR}/generated)
if(TENON_SANITIZE)
  target_compile_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

# tenon_room(NAME folder): every .cpp directly in the folder (and of the extra folders given).
function(tenon_room name)
  set(sources)
  foreach(folder ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(room_${name} OBJECT ${sources})
  target_link_libraries(room_${name} PUBLIC tenon_options)
endfunction()

# Embeds text files as string constants: tenon_embed(TARGET NAMESPACE OUT file...)
function(tenon_embed target output)
  set(script ${PROJECT_SOURCE_DIR}/src/build_rules/embed.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${ARGN}" -P ${script}
    DEPENDS ${ARGN} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
