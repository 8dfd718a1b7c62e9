"""Names that nothing of the project uses by name, and why they must be there (`make lint`, vulture)."""

# Fields of the documents that users write and read: the schema is their only reader.
organization
component_type
service_added
service_removed
service_renamed
SHARED
DEBUG
PLANNER
apiVersion

# What a profile needs on the command line, asked for by the option's name.
needs_crds
needs_binary
takes_image
takes_chart

# A count in the report, which its reader compares with the cases.
second_looks

# Read by a template (evidence/timeline.svg.j2).
heading
leaving

# How often a process was started: for who debugs one, and held by a test.
starts

# A content type that doors give by its value (model/doors.py).
JSON

# Attributes and methods of other libraries' objects: pytest, xdist, requests, urllib3, http.server,
# logging.
longrepr
loadscopereorder
_split_scope
keep_alive
connection_pool_maxsize
alpn_protocols
datefmt
converter
do_GET
do_POST
log_message
protocol_version
daemon_threads
request_queue_size
handle_error
trace
