# What `cmake --install` puts under a prefix, and the Debian packages that `cpack` makes of it. Components:
#
#   library       libweft.so.0, what programs are linked with
#   development   weft.h, find_package(weft), pkg-config's weft
#   tools         weft, weft-sim, their man pages
#   rtl           what `weft build-chip` builds RTL cores from
#   mpi           the module of weft-sim's --mpi, where it is built
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS libweft EXPORT weft-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS weft weft-sim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
# The pages say what the commands' --help says.
set(man_pages ${CMAKE_BINARY_DIR}/man)
add_custom_command(OUTPUT ${man_pages}/weft.1.gz
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/command_pages --build ${CMAKE_BINARY_DIR} --man ${man_pages}
  DEPENDS weft weft-sim ${CMAKE_SOURCE_DIR}/scripts/command_pages ${CMAKE_SOURCE_DIR}/scripts/command_help.py)
add_custom_target(man_pages ALL DEPENDS ${man_pages}/weft.1.gz)
install(DIRECTORY ${man_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
install(FILES ${CMAKE_SOURCE_DIR}/driver/include/weft/weft.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/generated/include/weft/spec/spec.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/spec COMPONENT development)
set(core_sources ${CMAKE_INSTALL_DATADIR}/weft/core)
install(FILES ${CMAKE_SOURCE_DIR}/CMakeLists.txt DESTINATION ${core_sources} COMPONENT rtl)
foreach(folder cmake rtl spec scripts/spec model/core model/golden model/verilated)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/ DESTINATION ${core_sources}/${folder} COMPONENT rtl
    FILES_MATCHING PATTERN *.cmake PATTERN core_key.py PATTERN *.sv PATTERN *.vlt PATTERN rtl/CMakeLists.txt PATTERN spec/CMakeLists.txt PATTERN *.toml
    PATTERN scripts/spec/*.py PATTERN *.hpp PATTERN *.in PATTERN model_failure.cpp PATTERN __pycache__ EXCLUDE)
endforeach()
set(components library development tools rtl)
if(TARGET weft_mpi)
  list(APPEND components mpi)
  install(TARGETS weft_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft COMPONENT mpi)
endif()
foreach(component ${components})
  set(package weft-${component})
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/${package} COMPONENT ${component})
endforeach()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/weft-config.cmake.in ${CMAKE_BINARY_DIR}/weft-config.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 each minor version may change the ABI; libweft.so.0 then counts up too.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weft-config.cmake ${CMAKE_BINARY_DIR}/weft-config-version.cmake DESTINATION ${package_folder} COMPONENT development)
string(REGEX REPLACE "[^/]+" ".." weft_pc_up ${CMAKE_INSTALL_LIBDIR}/pkgconfig)  # from there to the prefix: the tree may be moved
configure_file(${CMAKE_SOURCE_DIR}/cmake/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR Weft)
set(CPACK_PACKAGE_CONTACT "The Weft authors <weft@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "A TPU-class chip in simulation, its driver and its tools")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libweft0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "weft (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libweft-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libweft0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME weft)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION electronics)
set(CPACK_DEBIAN_RTL_PACKAGE_NAME weft-rtl)
set(CPACK_DEBIAN_RTL_PACKAGE_SECTION electronics)
set(CPACK_DEBIAN_RTL_PACKAGE_DEPENDS "weft (= ${PROJECT_VERSION}), cmake, verilator, python3 (>= 3.11), g++ | clang, zlib1g-dev")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME weft-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION electronics)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "weft (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_COMPONENT_MPI_DESCRIPTION "Lets mpirun start the simulator of a slice on several machines")
set(CPACK_COMPONENT_RTL_DESCRIPTION "Sources from which weft build-chip builds the RTL cores of further presets")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The library that a program calls: queues, buffers, kernels of a Weft device")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Header, CMake package and pkg-config file of libweft")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The simulator weft-sim and the weft command")
include(CPack)
