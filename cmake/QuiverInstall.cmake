# SPDX-License-Identifier: BSD-2-Clause
# QuiverInstall - what `cmake --install` gives to programs that use libquiver: libraries, headers, and
# how pkg-config and CMake find them. All of it can be moved as a whole.
include(CMakePackageConfigHelpers)

install(TARGETS quiver quiver_static EXPORT quiverTargets
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/quiver DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
	FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quiver)
install(EXPORT quiverTargets NAMESPACE quiver:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/quiverConfig.cmake.in
	${CMAKE_BINARY_DIR}/cmake/quiverConfig.cmake INSTALL_DESTINATION ${package_dir}
	NO_SET_AND_CHECK_MACRO)
# Before 1.0.0 a minor version may break programs.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/quiverConfigVersion.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/quiverConfig.cmake
	${CMAKE_BINARY_DIR}/cmake/quiverConfigVersion.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH qv_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/quiver.pc.in ${CMAKE_BINARY_DIR}/cmake/quiver.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cmake/quiver.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(QV_WITH_TOOLS)
	install(FILES ${CMAKE_SOURCE_DIR}/docs/man/quiver.1 ${CMAKE_SOURCE_DIR}/docs/man/quiver-trace.1
		DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	install(FILES ${CMAKE_SOURCE_DIR}/tools/completion.bash RENAME quiver
		DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

# Manual pages of section 3 are made from the headers, where Python is there to do it.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
	set(qv_man3 ${CMAKE_BINARY_DIR}/man/man3)
	file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/quiver/*.h)
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers}
		${CMAKE_SOURCE_DIR}/tools/man3.py ${CMAKE_SOURCE_DIR}/docs/man/quiver.1)
	file(REMOVE_RECURSE ${qv_man3})
	execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/man3.py
		${CMAKE_SOURCE_DIR} ${qv_man3} COMMAND_ERROR_IS_FATAL ANY)
	install(DIRECTORY ${qv_man3} DESTINATION ${CMAKE_INSTALL_MANDIR})
else()
	message(STATUS "no Python 3: no manual pages of section 3")
endif()
