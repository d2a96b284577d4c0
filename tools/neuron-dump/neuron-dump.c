// SPDX-License-Identifier: MIT
/*
 * neuron-dump: reads the coredump that the driver writes when an engine has
 * failed a job, and says what it means. The file may be anything.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "regs/iofic.h"
#include "tool.h"

#define TITLE "trainium device coredump, version 1"
/* The driver writes at most 64 KiB. */
#define MAX_LINES 4096
#define LINE 512
/* A descriptor of zeroes */
#define EMPTY "[0000000000000000 0000000000000000]"

static const struct cause {
	const char *reg;
	uint32_t bit;
	const char *text;
} causes[] = {
	{ "m2s-errors", TRN_M2S_ERR_PREF_HDR_PARITY, "parity of a header that was prefetched" },
	{ "m2s-errors", TRN_M2S_ERR_PREF_DESC_PARITY, "parity of a descriptor" },
	{ "m2s-errors", TRN_M2S_ERR_DATA_PARITY, "parity of data" },
	{ "m2s-errors", TRN_M2S_ERR_AXI_DATA_PARITY, "parity of data on the bus" },
	{ "m2s-errors", TRN_M2S_ERR_RING_ID, "ring id of a descriptor is wrong" },
	{ "m2s-errors", TRN_M2S_ERR_LAST, "a packet ends that has not begun" },
	{ "m2s-errors", TRN_M2S_ERR_FIRST, "a packet begins within another" },
	{ "m2s-errors", TRN_M2S_ERR_MAX_DESCS, "a packet has too many descriptors" },
	{ "m2s-errors", TRN_M2S_ERR_PKT_LEN, "a packet is too long" },
	{ "m2s-errors", TRN_M2S_ERR_PREF_AXI_TIMEOUT, "reading a descriptor took too long" },
	{ "m2s-errors", TRN_M2S_ERR_PREF_AXI_RESP, "reading a descriptor was refused" },
	{ "m2s-errors", TRN_M2S_ERR_PREF_AXI_PARITY, "parity while reading a descriptor" },
	{ "m2s-errors", TRN_M2S_ERR_DATA_AXI_TIMEOUT, "reading the source took too long" },
	{ "m2s-errors", TRN_M2S_ERR_DATA_AXI_RESP, "reading the source was refused" },
	{ "m2s-errors", TRN_M2S_ERR_DATA_AXI_PARITY, "parity while reading the source" },
	{ "m2s-errors", TRN_M2S_ERR_COMP_AXI_TIMEOUT, "writing a completion took too long" },
	{ "m2s-errors", TRN_M2S_ERR_COMP_AXI_RESP, "writing a completion was refused" },
	{ "m2s-errors", TRN_M2S_ERR_STREAM_TIMEOUT, "the stream to the write side is stuck" },
	{ "m2s-errors", TRN_M2S_ERR_STREAM_RESP, "the stream to the write side failed" },
	{ "s2m-errors", TRN_S2M_ERR_PKT_LEN, "a packet is longer than its descriptors" },
	{ "s2m-errors", TRN_S2M_ERR_LAST, "a packet ends that has not begun" },
	{ "s2m-errors", TRN_S2M_ERR_FIRST, "a packet begins within another" },
	{ "s2m-errors", TRN_S2M_ERR_COMP_AXI_TIMEOUT, "writing a completion took too long" },
	{ "s2m-errors", TRN_S2M_ERR_COMP_AXI_RESP, "writing a completion was refused" },
	{ "s2m-errors", TRN_S2M_ERR_RING_ID, "ring id of a descriptor is wrong" },
	{ "s2m-errors", TRN_S2M_ERR_PREF_AXI_TIMEOUT, "reading a descriptor took too long" },
	{ "s2m-errors", TRN_S2M_ERR_PREF_AXI_RESP, "reading a descriptor was refused" },
	{ "s2m-errors", TRN_S2M_ERR_NO_DESC_HINT, "no descriptor was there" },
	{ "s2m-errors", TRN_S2M_ERR_NO_DESC_TIMEOUT, "waited too long for a descriptor" },
	{ "s2m-errors", TRN_S2M_ERR_DATA_AXI_TIMEOUT, "writing the destination took too long" },
	{ "s2m-errors", TRN_S2M_ERR_DATA_AXI_RESP, "writing the destination was refused" },
	{ "s2m-errors", TRN_S2M_ERR_DATA_AXI_PARITY, "parity while writing the destination" },
};

static void print_usage(void)
{
	printf("usage: neuron-dump [OPTION] [FILE]\n"
	       "\n"
	       "Says what a coredump of the driver trainium means: FILE, - for standard input,\n"
	       "or the one that the kernel keeps.\n"
	       "\n"
	       "  -j, --json     JSON object on standard output\n"
	       "  -c, --clear    drop the one that the kernel keeps, once it was shown\n"
	       "  -h, --help     this text\n"
	       "  -V, --version  version\n"
	       "\n"
	       "Exit status: 0; 1 no dump, or none of this driver; 2 wrong usage.\n");
}

/* Path of the first dump of our driver that the kernel keeps. */
static bool find_dump(char *path, size_t size)
{
	char dir[PATH_MAX / 2], line[sizeof(TITLE)];
	struct dirent **list;
	bool found = false;
	int count, i;
	FILE *f;

	snprintf(dir, sizeof(dir), "%s/class/devcoredump", tool_sysfs);
	count = scandir(dir, &list, NULL, alphasort);
	for (i = 0; i < count; i++) {
		if (!found && !strncmp(list[i]->d_name, "devcd", 5)) {
			snprintf(path, size, "%s/%s/data", dir, list[i]->d_name);
			f = fopen(path, "re");
			if (!f && errno == EACCES)
				tool_die(TOOL_FAILED, "%s: only root may read it", path);
			if (f) {
				found = fgets(line, sizeof(line), f) && !strcmp(line, TITLE);
				fclose(f);
			}
		}
		free(list[i]);
	}
	if (count >= 0)
		free(list);
	return found;
}

static void add_causes(struct json_object *root, const char *reg, uint32_t value)
{
	struct json_object *list, *cause;
	size_t i;

	json_object_object_get_ex(root, "causes", &list);
	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (strcmp(causes[i].reg, reg) || !(value & causes[i].bit))
			continue;
		cause = json_append(list);
		json_string(cause, "register", reg);
		json_uint(cause, "bit", (uint64_t)__builtin_ctz(causes[i].bit));
		json_string(cause, "text", causes[i].text);
	}
}

/* "  name 0x00100 = 0x00000001"; false if it is none */
static bool add_register(struct json_object *root, struct json_object *list, const char *line)
{
	unsigned int offset, value;
	struct json_object *o;
	char name[32];

	if (!list || sscanf(line, " %31s 0x%x = 0x%x", name, &offset, &value) != 3)
		return false;
	o = json_append(list);
	json_string(o, "name", name);
	json_uint(o, "offset", offset);
	json_uint(o, "value", value);
	add_causes(root, name, value);
	return true;
}

/* "> 12: 4096 bytes hbm0+0x0 -> ..."; false if it is none */
static bool add_descriptor(struct json_object *list, const char *line)
{
	unsigned int slot, bytes;
	struct json_object *o;
	char mark, text[LINE];

	if (!list || sscanf(line, "%c %u: %u bytes %511[^\n]", &mark, &slot, &bytes, text) != 4 ||
	    (mark != '>' && mark != ' '))
		return false;
	o = json_append(list);
	json_uint(o, "slot", slot);
	json_uint(o, "bytes", bytes);
	json_flag(o, "stopped_here", mark == '>');
	json_string(o, "text", text);
	return true;
}

/* "queue 1 job 2 timed out on engine 3 queue pair 4" */
static void add_failure(struct json_object *root, const char *text)
{
	const char *where = strstr(text, "engine ");
	unsigned int queue, engine, pair;
	struct json_object *o;
	uint64_t job;

	if (!where || sscanf(text, "queue %u job %" SCNu64, &queue, &job) != 2 ||
	    sscanf(where, "engine %u queue pair %u", &engine, &pair) != 2)
		return;
	o = json_child(root, "job");
	json_uint(o, "queue", queue);
	json_uint(o, "seqno", job);
	json_string(o, "how", strstr(text, "timed out") ? "timed out" : "aborted");
	json_uint(o, "engine", engine);
	json_uint(o, "queue_pair", pair);
}

/* Lines "key: text" at the beginning, of those that there are. */
static void add_header(struct json_object *root, const char *key, const char *text)
{
	static const char *const keys[] = { "kernel", "time", "device", "failure", "ring" };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i], key))
			json_string(root, key, text);
	if (!strcmp(key, "failure"))
		add_failure(root, text);
}

static struct json_object *parse(FILE *f, const char *path)
{
	struct json_object *root = json_object_new_object(), *registers, *section = NULL;
	struct json_object *descriptors = NULL;
	char line[LINE], *colon;
	unsigned int i;

	if (!fgets(line, sizeof(line), f) || strncmp(line, TITLE, strlen(TITLE)))
		tool_die(TOOL_FAILED, "%s: is no coredump of the driver trainium, version 1", path);
	json_uint(root, "version", 1);
	json_list(root, "causes");
	registers = json_child(root, "registers");
	for (i = 0; i < MAX_LINES && fgets(line, sizeof(line), f); i++) {
		line[strcspn(line, "\n")] = '\0';
		tool_printable(line);
		if (add_descriptor(descriptors, line) || add_register(root, section, line))
			continue;
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		if (!strncmp(line, "descriptors", 11)) {
			descriptors = json_list(root, "descriptors");
			section = NULL;
		} else if (!colon[1]) {
			section = json_list(registers, line);
		} else if (!descriptors && !section) {
			add_header(root, line, colon + 2);
		}
	}
	if (!descriptors)
		json_list(root, "descriptors");
	return root;
}

static const char *text_of(struct json_object *root, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(root, key, &value) ? json_object_get_string(value) : "-";
}

static void show(struct json_object *root)
{
	struct json_object *list, *o;
	size_t i, empty = 0;
	bool here;

	printf("%sWhat failed%s  %s\n", tool_paint(TOOL_RED), tool_paint(TOOL_PLAIN),
	       text_of(root, "failure"));
	printf("Device       %s\nKernel       %s\nRing         %s\n", text_of(root, "device"),
	       text_of(root, "kernel"), text_of(root, "ring"));
	json_object_object_get_ex(root, "causes", &list);
	for (i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		printf("Cause        %s bit %s: %s\n", text_of(o, "register"), text_of(o, "bit"),
		       text_of(o, "text"));
	}
	if (!json_object_array_length(list))
		printf("Cause        no error bit is set: the engine made no progress\n");
	json_object_object_get_ex(root, "registers", &list);
	json_object_object_foreach(list, name, values) {
		printf("\nRegisters: %s\n", name);
		for (i = 0; i < json_object_array_length(values); i++) {
			o = json_object_array_get_idx(values, i);
			printf("  %-16s 0x%08" PRIx64 "\n", text_of(o, "name"),
			       json_object_get_uint64(json_object_object_get(o, "value")));
		}
	}
	printf("\nDescriptors (> is where the engine stands)\n");
	json_object_object_get_ex(root, "descriptors", &list);
	for (i = 0; i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		if (strstr(text_of(o, "text"), EMPTY)) {
			empty++;
			continue;
		}
		here = json_object_get_boolean(json_object_object_get(o, "stopped_here"));
		printf("%c %5s: %5s bytes %s\n", here ? '>' : ' ', text_of(o, "slot"),
		       text_of(o, "bytes"), text_of(o, "text"));
	}
	if (empty)
		printf("%zu slots have not been written yet.\n", empty);
}

static void drop(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f || fputc('0', f) == EOF || fclose(f))
		tool_die(TOOL_FAILED, "%s: cannot be dropped: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "clear", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false, clear = false;
	struct json_object *root;
	char path[PATH_MAX];
	FILE *f = stdin;
	int c;

	tool_name = "neuron-dump";
	while ((c = getopt_long(argc, argv, "jchV", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'c':
			clear = true;
			break;
		case 'h':
			print_usage();
			return tool_finish(TOOL_OK);
		case 'V':
			tool_print_version();
			return tool_finish(TOOL_OK);
		default:
			tool_usage_error();
		}
	}
	if (argc - optind > 1 || (clear && optind < argc)) {
		tool_warn("unexpected argument '%s'", argv[argc - 1]);
		tool_usage_error();
	}
	if (optind < argc)
		snprintf(path, sizeof(path), "%s", argv[optind]);
	else if (!find_dump(path, sizeof(path)))
		tool_die(TOOL_FAILED,
			 "the kernel keeps no coredump of the driver: nothing has failed in the last 5 minutes, or it was dropped");
	if (strcmp(path, "-"))
		f = fopen(path, "re");
	if (!f)
		tool_die(TOOL_FAILED, "%s: %s", path, strerror(errno));
	root = parse(f, path);
	if (f != stdin)
		fclose(f);
	if (json) {
		json_print(root);
	} else {
		show(root);
		json_object_put(root);
	}
	if (clear)
		drop(path);
	return tool_finish(TOOL_OK);
}
