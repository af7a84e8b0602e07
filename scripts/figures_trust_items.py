"""The items of "Nobody loses anything": the tests that hold each, whose arithmetic or text they compare with, and what the
source before the change showed. `*` in a ctest name stands for anything; a name that finds no test is an error."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    number: int
    what: str
    oracle: str
    before: str  # as the change's commit has it
    tests: tuple = ()  # of ctest
    cases: tuple = ()  # of testbench/system/FILE.py: "FILE Class.case"


ITEMS = (
    Item(1, "a comparison of nothing fails", "model/golden, operator by operator, and the counts that shapes give",
         '"Mismatched elements: 24 / 24 (100%)" with exit code 0', tests=(
             "tools_test:elements that differ are counted over all arrays, and the first is named by its coordinates",
             "tools_test:bits are compared, not values", "tools_test:nothing compared is a failure",
             "tools_test:a network's results are compared output by output: none may be missing on either side",
             "tools_test:a collective's outputs are compared on every chip that has one"),
         cases=("cli_test Model.test_a_value_that_is_several_outputs_is_right_in_each",)),
    Item(2, "an ONNX model is right or refused", "onnxruntime's arithmetic, onnx.checker, ONNX's own test vectors",
         "of 300 models 6 wrong values or shapes (1.96e+37 for -1.05), all verified, and 13 taken that ONNX refuses", tests=(
             "onnx_import_test:*", "onnx: *")),
    Item(3, "the fast core takes the RTL's cycles", "the RTL, verilated", "83 of the first 100 programs of commands differed at nano, 69 at nano-4mxu", tests=(
        "random: 100 compiled programs at nano take the same cycles on the RTL and the fast core",
        "random: 60 compiled programs at nano with four MXUs take the same cycles on both", "random: 100 programs of commands at nano take the same cycles on both",
        "random: 60 programs of commands at nano with four MXUs take the same cycles on both", "random: 60 illegal programs at nano end in the same cycle on both",
        "random_program_test:the comparison of both cores has 2,000 compiled programs, and commands in random order, legal and not",
        "fast_against_rtl: the fast core's cycles equal the RTL's*")),
    Item(4, "pages show what is printed now", "what each command prints when the test runs it", "16 of 63 commands differed", tests=("transcripts_test",)),
    Item(5, "engines stand still before memory is given back", "the pattern that the test wrote into the memory",
         '"65536 (0x10000) == 0 ... bad doorbell, the core writes HBM, sim:nano?core=fast"; of a client that left, "9 == 7"',
         tests=("quiescence_test", "chip_test:what the device does for a client that has left reaches no memory of it")),
    Item(6, "a close beside a callback that releases a queue", "the order of locks that weft.h allows; a clock", "'weft_close beside a callback that releases a queue does not return'", tests=(
        "driver_device_test:a callback that releases a queue while its device is being closed returns, and so does the close",
        "driver_device_test:a callback may use what it got while its device is being closed", "driver_device_test:the second of two closes is told that the device is closed")),
    Item(7, "after a close every event is done and every callback has run", "the events and callbacks that the test counted itself",
         "'flight.done() == 41: 1 == 41'; 'calls == 41: 0 == 41' of drained events, '40 == 41' of a loss",
         tests=("driver_device_test:after a close every *", "driver_device_test:a callback is refused or runs, whenever its device is closed")),
    Item(8, "a wait before the signal", "the signals that the test gives itself, and its clock", "a wait ended after 2 ms as idle although another thread was about to signal (no test is quoted)", tests=(
        "wait_before_signal_test", "driver_device_test:a wait of the host for what the host signals later ends with OK, and leaves no report",
        "driver_device_test:a wait for a command behind a semaphore goes on until the host signals it", "driver_device_test:a signal that races with the verdict is never missed",
        "driver_device_test:an idle device is not believed while a signal is counted and its doorbell is still on its way",
        "driver_device_test:once nobody has the semaphore's handle, waits for commands behind it end, with a report",
        "driver_device_test:a wait until the device is idle says which queue waits for what")),
    Item(9, "forks, wake-ups, blame and logs without end", "clocks and records that the test keeps itself",
         "'callback 26 has not come: nobody leads after the thread that did has left'; read_log: 'CHECK( ended ): 0' after 20 s; without the handlers of "
         "pthread_atfork all four cases of fork_test fail: 'within(milliseconds(1000), ... ended(simulators.front()) ...): false'", tests=(
             "driver_device_test:a callback comes although the thread that led has just left",
             "driver_device_test:a completion that lands between drain and sleep is found without another interrupt",
             "*fork*", "driver_hang_test:a reset with nothing in its reach blames nobody for what has failed elsewhere",
             "driver_hang_test:a device reset counts commands of queues, not waits of the host nor commands of the driver itself",
             "driver_device_test:the reset of a queue leaves the others of its completion ring alone",
             "driver_hang_test:a queue reset ends what it has, guilty and innocent apart, and the same handle goes on",
             "driver_data_test:a device that writes * without end is read for one lap at a time, and nothing is lost")),
    Item(10, "what one function does costs the others nothing", "the neighbours' own host arithmetic, and /proc of the server",
         'exit 138; "CHECK( lives ) i := 3206"; "0.188 < 0.1" s of processor time; 190,676,992 bytes of replies kept', tests=(
             "server_test:maps of sparse files larger than the address space do not end the server", "server_test:an eventfd that is filled at any moment never blocks the server",
             "server_test:an eventfd whose count is full does not block the server", "server_test:a mapped file that is truncated fails its tenant's accesses, and ends nothing",
             "server_test:a socket that travels over itself leaves no owner behind", "server_test:a half-closed client whose replies nobody reads does not make the server spin",
             "server_test:a client that is not done reading its replies does not fill the server's memory",
             "server_test:a tenant beside others neither holds time nor injects faults, and is told so",
             "server_test:a flood of messages does not keep the others from the verdict that nothing can end a wait",
             "server_test:tenants that always have messages get equal times, however long a message of one takes",
             "server_test:a command without memory is answered ENOMEM, changes nothing, and works when there is some",
             "server_test:a function that is owned is reset only by force, and the refusal says whose it is")),
    Item(11, "the folder and its sockets are the user's alone", "lstat() of what lies there, and another user's process",
         "\"'4239\\n' != 'mine'\": .owner followed a link; \"511 != 448\": the umask's mode", tests=(
             "tenants_test", "server_test:the owner's file follows no link and takes the place of what is there",
             "server_test:a folder of others, one that others may write, and a link to one are refused, and say so",
             "server_test:a socket and the file beside it are the user's alone, whatever the umask",
             "server_test:a process of another user is refused, also with a socket that it was given")),
    Item(12, "vfio-user as others speak it", "the protocol's text, read a second time; linux/vfio.h",
         '"the server takes 8 descriptors a message, 17 are needed"; a message of no type waited for ever', tests=(
             "protocol_test", "server_test:a message takes eight descriptors, and one more is refused", "server_test:any range can be unmapped, and all at once",
             "server_test:the device reads and writes memory that is not shared by messages to the client", "server_test:QEMU's VERSION gets values that QEMU accepts",
             "server_test:a message of no type is refused, and a reply to nothing gets no answer", "server_test:a client that is accepted while the one before has left unseen is served next",
             "driver_transport_test:eventfds go in as many messages as the server's max_msg_fds asks for")),
    Item(13, "faults of the MXU, resets beside remote copies, partial K", "counts by hand; model/golden",
         '"201 == 1" faults for a seed, "385 (0x181) == 1" with a copy under way', tests=(
             "mxu_test:a poisoned row, weight or seed is one fault, however long the unit is clocked after it",
             "mxu_test:a poisoned granule of x counts if one of its PE rows is below K, whatever K is",
             "mxu_test:a poisoned granule of weights counts if one of its lanes is below cols",
             "injection_test:a fault of ECC is counted once and its interrupt can be cleared while other units go on",
             "slice_core_test:A core reset forgets remote copies that were not acknowledged, and the core is idle and works again",
             "random: 100 legal programs at nano with four MXUs agree with golden", "mutation: waivers")),
    Item(14, "links that die in traffic", "testbench/storms' own books, which know nothing of routes",
         '"failed": 214 of 300 storms, "stuck": 48, "lost": 108364, "out_of_order": 15115', tests=(
             "storms: *", "ici_test:three deaths in the middle of a flow put none of its 32,000 messages out of order",
             "ici_test:sixty deaths under load on 256 chips leave nothing stuck, in small buffers and in large ones")),
    Item(15, "what cannot be is said in its own words, exit code 2", "the sentence that the case expects", "(4, '') != (2, '') : gemm --shape 8x8x8 --chip v5e --core rtl; 33 failures",
         cases=("bad_input_test Targets",)),
)
