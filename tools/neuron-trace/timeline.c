// SPDX-License-Identifier: MIT
/*
 * From lines of a trace to a timeline in the JSON of Chrome's trace viewer, which
 * Perfetto reads, too. The driver's events have the clock of the machine, the
 * model's have modelled time: processes of the timeline keep them apart, and each
 * clock begins at its first event.
 */
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "tool.h"
#include "trace.h"

/* Processes: a device of the driver, a chip of the model, the links of the model */
#define PID_DEVICE 1
#define PID_CHIP 1001
#define PID_LINKS 2001
/* Threads of a device; those of a chip are its engines' queues, of the links its ports. */
#define TID_QUEUE 1
#define TID_ENGINE 100000
#define TID_DEVICE 200000

#define NAME 48
/* What a line may say: anything else is none of ours */
#define MAX_SECONDS 1000000000
#define MAX_TRACK 65536
#define MAX_CHIPS 1000

struct job {
	struct job *next;
	uint64_t seqno, bytes;
	int64_t begin;
	unsigned int ops;
	char process[NAME];
};

struct queue {
	struct queue *next;
	struct job *first, **last;
	unsigned int id;
	/** @end: of the job before */
	int64_t end;
};

struct device {
	struct device *next;
	struct queue *queues;
	char name[NAME];
	unsigned int pid;
	uint64_t bytes;
};

/* A clock, and whether it has begun */
struct clock {
	int64_t first, last;
	bool runs;
};

struct timeline {
	FILE *out;
	unsigned long events, lines;
	struct device *devices;
	unsigned int num_devices;
	struct clock driver, model;
	/** @named: tracks that have a name, as a tree */
	void *named;
};

/* A line that was taken apart */
struct event {
	int64_t ns;
	char process[NAME];
	/** @fields: what follows the name */
	const char *fields;
};

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		tool_die(TOOL_FAILED, "out of memory");
	return memory;
}

/* --- output --- */

static void put(struct timeline *t, struct json_object *o)
{
	fputs(t->lines++ ? ",\n" : "\n", t->out);
	fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
					     JSON_C_TO_STRING_NOSLASHESCAPE), t->out);
	json_object_put(o);
}

/* The format counts microseconds. */
static void put_time(struct json_object *o, const char *key, int64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", (double)ns / 1e3);
	json_object_object_add(o, key, json_object_new_double_s((double)ns / 1e3, text));
}

static struct json_object *new_event(const char *phase, const char *name, unsigned int pid,
				     unsigned int tid)
{
	struct json_object *o = json_object_new_object();

	json_string(o, "ph", phase);
	json_string(o, "name", name);
	json_uint(o, "pid", pid);
	json_uint(o, "tid", tid);
	return o;
}

static void put_name(struct timeline *t, const char *what, unsigned int pid, unsigned int tid,
		     const char *name)
{
	struct json_object *o = new_event("M", what, pid, tid);

	json_string(json_child(o, "args"), "name", name);
	put(t, o);
}

static int compare_tracks(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* True the first time: the caller names the track. */
static bool is_new_track(struct timeline *t, unsigned int pid, unsigned int tid)
{
	uint64_t *key = allocate(sizeof(*key));
	uint64_t **found;

	*key = (uint64_t)pid << 32 | tid;
	found = tsearch(key, &t->named, compare_tracks);
	if (!found)
		tool_die(TOOL_FAILED, "out of memory");
	if (*found == key)
		return true;
	free(key);
	return false;
}

static int64_t since_first(struct clock *clock, int64_t ns)
{
	if (!clock->runs)
		clock->first = ns;
	clock->runs = true;
	if (ns > clock->last)
		clock->last = ns;
	return ns - clock->first;
}

/* A moment; its args are to be filled in, then it is put. */
static struct json_object *moment(struct timeline *t, const struct event *event, const char *name,
				  unsigned int pid, unsigned int tid, struct json_object **args)
{
	struct json_object *o = new_event("i", name, pid, tid);

	json_string(o, "s", "t");
	put_time(o, "ts", since_first(&t->driver, event->ns));
	*args = json_child(o, "args");
	return o;
}

/* --- devices and queues of the driver --- */

static struct device *find_device(struct timeline *t, const char *name)
{
	struct device **at, *device;

	for (at = &t->devices; *at; at = &(*at)->next)
		if (!strcmp((*at)->name, name))
			return *at;
	device = allocate(sizeof(*device));
	snprintf(device->name, sizeof(device->name), "%s", name);
	device->pid = PID_DEVICE + t->num_devices++;
	put_name(t, "process_name", device->pid, 0, name);
	*at = device;
	return device;
}

static struct queue *find_queue(struct timeline *t, struct device *device, unsigned int id)
{
	struct queue *queue;
	char name[32];

	for (queue = device->queues; queue; queue = queue->next)
		if (queue->id == id)
			return queue;
	queue = allocate(sizeof(*queue));
	queue->id = id;
	queue->last = &queue->first;
	queue->next = device->queues;
	device->queues = queue;
	snprintf(name, sizeof(name), "queue %u", id);
	put_name(t, "thread_name", device->pid, TID_QUEUE + id, name);
	return queue;
}

static unsigned int device_track(struct timeline *t, const struct device *device)
{
	if (is_new_track(t, device->pid, TID_DEVICE))
		put_name(t, "thread_name", device->pid, TID_DEVICE, "device");
	return TID_DEVICE;
}

static unsigned int engine_track(struct timeline *t, const struct device *device,
				 unsigned int engine)
{
	char name[32];

	snprintf(name, sizeof(name), "engine %u", engine);
	if (is_new_track(t, device->pid, TID_ENGINE + engine))
		put_name(t, "thread_name", device->pid, TID_ENGINE + engine, name);
	return TID_ENGINE + engine;
}

static void put_in_flight(struct timeline *t, const struct device *device, int64_t ns)
{
	struct json_object *o = new_event("C", "bytes in flight", device->pid, 0);

	put_time(o, "ts", ns);
	json_uint(json_child(o, "args"), "bytes", device->bytes);
	put(t, o);
}

/*
 * Jobs of a queue run one after the other: the span of one begins when it was
 * submitted, or when the one before has ended.
 */
static void put_job(struct timeline *t, const struct device *device, const struct queue *queue,
		    const struct job *job, int64_t end, int error, bool ended)
{
	int64_t begin = job->begin > queue->end ? job->begin : queue->end;
	struct json_object *o, *args;
	char name[32];

	snprintf(name, sizeof(name), "job %" PRIu64, job->seqno);
	o = new_event("X", name, device->pid, TID_QUEUE + queue->id);
	json_string(o, "cat", "job");
	put_time(o, "ts", begin);
	put_time(o, "dur", end > begin ? end - begin : 0);
	args = json_child(o, "args");
	json_uint(args, "queue", queue->id);
	json_uint(args, "seqno", job->seqno);
	json_uint(args, "ops", job->ops);
	json_uint(args, "bytes", job->bytes);
	json_string(args, "process", job->process);
	put_time(args, "waited_us", begin - job->begin);
	if (ended)
		json_int(args, "error", error);
	else
		json_flag(args, "unfinished", true);
	put(t, o);
}

/* --- lines of the driver --- */

static bool on_submit(struct timeline *t, const struct event *event, struct device *device)
{
	struct json_object *o, *args;
	unsigned int id, ops;
	struct queue *queue;
	uint64_t seqno, bytes;
	struct job *job;

	if (sscanf(event->fields, "queue %u seqno %" SCNu64 " ops %u bytes %" SCNu64, &id, &seqno,
		   &ops, &bytes) != 4 || id >= MAX_TRACK)
		return false;
	queue = find_queue(t, device, id);
	o = moment(t, event, "submit", device->pid, TID_QUEUE + id, &args);
	json_uint(args, "seqno", seqno);
	put(t, o);
	job = allocate(sizeof(*job));
	*job = (struct job){ .seqno = seqno, .bytes = bytes, .ops = ops,
			     .begin = since_first(&t->driver, event->ns) };
	memcpy(job->process, event->process, sizeof(job->process));
	*queue->last = job;
	queue->last = &job->next;
	device->bytes += bytes;
	put_in_flight(t, device, job->begin);
	return true;
}

static bool on_complete(struct timeline *t, const struct event *event, struct device *device)
{
	struct json_object *o, *args;
	struct queue *queue;
	struct job **at, *job;
	unsigned int id;
	uint64_t seqno;
	int64_t end;
	int error;

	if (sscanf(event->fields, "queue %u seqno %" SCNu64 " error %d", &id, &seqno,
		   &error) != 3 || id >= MAX_TRACK || error > 0)
		return false;
	queue = find_queue(t, device, id);
	end = since_first(&t->driver, event->ns);
	for (at = &queue->first; *at && (*at)->seqno != seqno; at = &(*at)->next)
		;
	job = *at;
	if (job) {
		put_job(t, device, queue, job, end, error, true);
		device->bytes -= job->bytes;
		put_in_flight(t, device, end);
		*at = job->next;
		if (!*at)
			queue->last = at;
		free(job);
	} else {
		/* The submit was before the trace. */
		o = moment(t, event, "complete", device->pid, TID_QUEUE + id, &args);
		json_uint(args, "seqno", seqno);
		json_int(args, "error", error);
		put(t, o);
	}
	queue->end = end;
	return true;
}

static bool on_doorbell(struct timeline *t, const struct event *event, struct device *device)
{
	unsigned int engine, ring, count, head;
	struct json_object *o, *args;
	uint64_t marker;

	if (sscanf(event->fields, "engine %u ring %u count %u head %u marker %" SCNu64, &engine,
		   &ring, &count, &head, &marker) != 5 || engine >= MAX_TRACK)
		return false;
	o = moment(t, event, "doorbell", device->pid, engine_track(t, device, engine), &args);
	json_uint(args, "ring", ring);
	json_uint(args, "descriptors", count);
	json_uint(args, "head", head);
	json_uint(args, "marker", marker);
	put(t, o);
	return true;
}

static bool on_irq(struct timeline *t, const struct event *event, struct device *device)
{
	unsigned int vector, engine, pending;
	struct json_object *o, *args;

	if (sscanf(event->fields, "vector %u engine %u pending %x", &vector, &engine,
		   &pending) != 3 || engine >= MAX_TRACK)
		return false;
	o = moment(t, event, "interrupt", device->pid, engine_track(t, device, engine), &args);
	json_uint(args, "vector", vector);
	json_uint(args, "pending", pending);
	put(t, o);
	return true;
}

static bool on_list(struct timeline *t, const struct event *event, struct device *device)
{
	struct json_object *o, *args;
	unsigned int id, ids, irq;
	uint64_t seqno;

	if (sscanf(event->fields, "queue %u seqno %" SCNu64 " ring ids %u markers 1 irq %u", &id,
		   &seqno, &ids, &irq) != 4 || id >= MAX_TRACK)
		return false;
	find_queue(t, device, id);
	o = moment(t, event, "start of a list", device->pid, TID_QUEUE + id, &args);
	json_uint(args, "seqno", seqno);
	json_uint(args, "words", ids);
	json_flag(args, "interrupt", irq);
	put(t, o);
	return true;
}

static bool on_wait(struct timeline *t, const struct event *event, struct device *device)
{
	struct json_object *o, *args;
	uint64_t seqno, bytes, expected;
	unsigned int id, slept;

	if (sscanf(event->fields,
		   "queue %u seqno %" SCNu64 " bytes %" SCNu64 " expected %" SCNu64 " ns slept %u",
		   &id, &seqno, &bytes, &expected, &slept) != 5 || id >= MAX_TRACK)
		return false;
	find_queue(t, device, id);
	o = moment(t, event, "wait", device->pid, TID_QUEUE + id, &args);
	json_uint(args, "seqno", seqno);
	json_uint(args, "bytes", bytes);
	json_uint(args, "expected_ns", expected);
	json_flag(args, "slept", slept);
	put(t, o);
	return true;
}

static bool on_engine_error(struct timeline *t, const struct event *event, struct device *device)
{
	unsigned int engine, m2s, s2m;
	struct json_object *o, *args;

	if (sscanf(event->fields, "engine %u m2s %x s2m %x", &engine, &m2s, &s2m) != 3 ||
	    engine >= MAX_TRACK)
		return false;
	o = moment(t, event, "engine error", device->pid, engine_track(t, device, engine), &args);
	json_string(o, "cname", "terrible");
	json_uint(args, "m2s", m2s);
	json_uint(args, "s2m", s2m);
	put(t, o);
	return true;
}

/* "engine 3: timeout, result 0" */
static bool on_reset(struct timeline *t, const struct event *event, struct device *device)
{
	const char *result = strstr(event->fields, ", result "), *colon;
	char scope[16], name[32], why[64];
	struct json_object *o, *args;
	unsigned int index;
	int error;

	colon = strstr(event->fields, ": ");
	if (!result || !colon || result < colon ||
	    sscanf(event->fields, "%15s %u:", scope, &index) != 2 ||
	    sscanf(result, ", result %d", &error) != 1)
		return false;
	snprintf(name, sizeof(name), "reset of %s %u", scope, index);
	snprintf(why, sizeof(why), "%.*s", (int)(result - colon - 2), colon + 2);
	tool_printable(name);
	tool_printable(why);
	o = moment(t, event, name, device->pid, device_track(t, device), &args);
	json_string(o, "cname", "bad");
	json_string(args, "why", why);
	json_int(args, "error", error);
	put(t, o);
	return true;
}

static bool on_event(struct timeline *t, const struct event *event, struct device *device)
{
	static const char *const names[] = { "reset", "gone", "memory errors", "health", "thermal",
					     "fault", "port", "partition", "group", "counter" };
	struct json_object *o, *args, *list;
	unsigned int type, i;
	uint64_t seqno, data[4];

	if (sscanf(event->fields,
		   "event %" SCNu64 " type %u data %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
		   &seqno, &type, &data[0], &data[1], &data[2], &data[3]) != 6)
		return false;
	o = moment(t, event, type < sizeof(names) / sizeof(names[0]) ? names[type] : "event",
		   device->pid, device_track(t, device), &args);
	json_uint(args, "seqno", seqno);
	json_uint(args, "type", type);
	list = json_list(args, "data");
	for (i = 0; i < 4; i++)
		json_object_array_add(list, json_object_new_uint64(data[i]));
	put(t, o);
	return true;
}

static const struct {
	const char *name;
	bool (*take)(struct timeline *t, const struct event *event, struct device *device);
} driver_events[] = {
	{ "trn_submit", on_submit }, { "trn_complete", on_complete },
	{ "trn_doorbell", on_doorbell }, { "trn_list", on_list }, { "trn_wait", on_wait },
	{ "trn_irq", on_irq },
	{ "trn_engine_error", on_engine_error }, { "trn_reset", on_reset },
	{ "trn_event", on_event },
};

/* "COMMAND-PID [CPU] ... SECONDS.FRACTION: " before @name */
static bool take_head(const char *text, const char *name, struct event *event)
{
	const char *at = name, *cpu = strstr(text, " [");
	int64_t scale = 1000000000, seconds;
	char *end;

	if (at - text > 9 && !strncmp(at - 9, "trainium:", 9))
		at -= 9;
	while (at > text && (at[-1] == ' ' || at[-1] == ':'))
		at--;
	while (at > text && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.'))
		at--;
	seconds = strtoll(at, &end, 10);
	if (seconds < 0 || seconds > MAX_SECONDS || *end != '.')
		return false;
	event->ns = seconds * scale;
	at = end + 1;
	for (; *at >= '0' && *at <= '9' && scale; at++) {
		scale /= 10;
		event->ns += (*at - '0') * scale;
	}
	while (*text == ' ')
		text++;
	snprintf(event->process, sizeof(event->process), "%.*s",
		 cpu > text ? (int)(cpu - text) : 0, text);
	tool_printable(event->process);
	return true;
}

static bool driver_line(struct timeline *t, const char *text)
{
	const char *name = strstr(text, "trn_"), *fields;
	struct event event;
	char device[NAME];
	size_t i, length;
	int used;

	fields = name ? strchr(name, ':') : NULL;
	if (!fields || sscanf(fields, ": %47s %n", device, &used) != 1)
		return false;
	length = (size_t)(fields - name);
	event.fields = fields + used;
	for (i = 0; i < sizeof(driver_events) / sizeof(driver_events[0]); i++)
		if (strlen(driver_events[i].name) == length &&
		    !strncmp(driver_events[i].name, name, length))
			break;
	if (i == sizeof(driver_events) / sizeof(driver_events[0]) ||
	    !take_head(text, name, &event))
		return false;
	tool_printable(device);
	return driver_events[i].take(t, &event, find_device(t, device));
}

/* --- lines of the model --- */

static void put_modelled(struct timeline *t, const char *category, unsigned int pid,
			 unsigned int tid, uint64_t bytes, int64_t begin, int64_t end)
{
	struct tool_text name = tool_bytes(bytes);
	struct json_object *o = new_event("X", name.text, pid, tid);

	json_string(o, "cat", category);
	put_time(o, "ts", since_first(&t->model, begin));
	put_time(o, "dur", end > begin ? end - begin : 0);
	json_uint(json_child(o, "args"), "bytes", bytes);
	put(t, o);
}

static bool in_order(int64_t begin, int64_t end)
{
	return begin >= 0 && end >= begin && end < INT64_MAX / 2;
}

static bool packet_line(struct timeline *t, const char *text)
{
	unsigned int chip, engine, queue, tid;
	int64_t begin, end;
	uint64_t bytes;
	char name[48];

	if (sscanf(text,
		   "trn_time_packet chip %u engine %u queue %u bytes %" SCNu64 " start %" SCNd64
		   " end %" SCNd64, &chip, &engine, &queue, &bytes, &begin, &end) != 6 ||
	    chip >= MAX_CHIPS || engine >= MAX_TRACK || queue >= 16 || !in_order(begin, end))
		return false;
	snprintf(name, sizeof(name), "chip %u, modelled time", chip);
	if (is_new_track(t, PID_CHIP + chip, 0))
		put_name(t, "process_name", PID_CHIP + chip, 0, name);
	tid = 1 + engine * 16 + queue;
	snprintf(name, sizeof(name), "engine %u queue %u", engine, queue);
	if (is_new_track(t, PID_CHIP + chip, tid))
		put_name(t, "thread_name", PID_CHIP + chip, tid, name);
	put_modelled(t, "packet", PID_CHIP + chip, tid, bytes, begin, end);
	return true;
}

static bool link_line(struct timeline *t, const char *text)
{
	unsigned int node, port, links, tid;
	char what[8], name[64];
	int64_t begin, end;
	uint64_t bytes;

	if (sscanf(text,
		   "trn_time_link %7s %u port %u links %u bytes %" SCNu64 " start %" SCNd64
		   " end %" SCNd64, what, &node, &port, &links, &bytes, &begin, &end) != 7 ||
	    node >= MAX_TRACK || port >= 1024 || links > 1024 || !in_order(begin, end))
		return false;
	if (is_new_track(t, PID_LINKS, 0))
		put_name(t, "process_name", PID_LINKS, 0, "links, modelled time");
	tid = 1 + (!strcmp(what, "switch") ? 1u << 30 : 0) + node * 1024 + port;
	tool_printable(what);
	if (links > 1)
		snprintf(name, sizeof(name), "%s %u ports %u-%u", what, node, port,
			 port + links - 1);
	else
		snprintf(name, sizeof(name), "%s %u port %u", what, node, port);
	if (is_new_track(t, PID_LINKS, tid))
		put_name(t, "thread_name", PID_LINKS, tid, name);
	put_modelled(t, "link", PID_LINKS, tid, bytes, begin, end);
	return true;
}

/* --- the whole --- */

struct timeline *timeline_new(FILE *out)
{
	struct timeline *t = allocate(sizeof(*t));

	t->out = out;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	return t;
}

void timeline_line(struct timeline *t, const char *text)
{
	const char *model = strstr(text, "trn_time_");

	if (model ? packet_line(t, model) || link_line(t, model) : driver_line(t, text))
		t->events++;
}

static void end_device(struct timeline *t, struct device *device)
{
	int64_t end = t->driver.last - t->driver.first;
	struct queue *queue;
	struct job *job;

	while ((queue = device->queues)) {
		while ((job = queue->first)) {
			put_job(t, device, queue, job, end, 0, false);
			queue->end = end;
			queue->first = job->next;
			free(job);
		}
		device->queues = queue->next;
		free(queue);
	}
}

unsigned long timeline_end(struct timeline *t)
{
	unsigned long events = t->events;
	struct device *device;

	while ((device = t->devices)) {
		end_device(t, device);
		t->devices = device->next;
		free(device);
	}
	fputs("\n]}\n", t->out);
	tdestroy(t->named, free);
	free(t);
	return events;
}
