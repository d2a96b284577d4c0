// SPDX-License-Identifier: MIT
/*
 * neuron-fabric: the links between Trainium chips, seen and controlled.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"

static const struct command {
	const char *name;
	int (*run)(const struct call *call);
	unsigned int min_args, max_args;
	/** @one: of a single device */
	bool one;
} commands[] = {
	{ "status", show_status, 0, 0, false },
	{ "ports", show_ports, 0, 0, false },
	{ "counters", show_counters, 0, 0, false },
	{ "errors", show_errors, 0, 0, false },
	{ "events", show_events, 0, 0, false },
	{ "peers", show_peers, 0, 0, false },
	{ "groups", show_groups, 0, 0, false },
	{ "partitions", show_partitions, 0, 0, false },
	{ "path", show_path, 1, 1, true },
	{ "enable", control_ports, 1, 64, true },
	{ "disable", control_ports, 1, 64, true },
	{ "drain", control_ports, 1, 64, true },
	{ "train", control_ports, 1, 64, true },
	{ "reset", control_ports, 1, 64, true },
	{ "cap", control_cap, 2, 3, true },
	{ "loopback", control_loopback, 2, 2, true },
	{ "clear", control_clear, 2, 2, true },
};

#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(void)
{
	printf("usage: neuron-fabric [OPTION...] COMMAND [ARG...]\n"
	       "\n"
	       "Shows and controls the links between Trainium chips.\n"
	       "\n"
	       "to see, of all devices or the one of -d:\n"
	       "  status             place of each chip and its ports\n"
	       "  ports              state of each port, and what is at its other end\n"
	       "  counters           traffic of each port\n"
	       "  errors             errors of each port that has any (--all: of each)\n"
	       "  events             what happens from now on (--count N, --timeout S)\n"
	       "  peers              the way to each other chip\n"
	       "  path CHIP          the way to one (--test: moves data there and back)\n"
	       "  groups             what there is for multicast and reduction\n"
	       "  partitions         who may talk to whom\n"
	       "to control, of one device; PORT is a number, or 'all'; needs root:\n"
	       "  enable PORT...     switch on, or end a drain\n"
	       "  disable PORT...    switch off\n"
	       "  drain PORT...      carry nothing any more, but stay trained\n"
	       "  train PORT...      train again\n"
	       "  reset PORT...      begin from nothing\n"
	       "  cap PORT lanes=N|rate=MB/s...  use no more than that; 0: all\n"
	       "  loopback PORT on|off           send back what is sent\n"
	       "  clear PORT counters|latch      begin to count anew; let a failed port train\n"
	       "\n"
	       "  -d, --device NAME  index, accelN, path or PCI address\n"
	       "  -j, --json         JSON array on standard output; events: an object a line\n"
	       "  -f, --force        even if it cuts chips off\n"
	       "  -t, --timeout S    wait so long for a port to come to rest (5), or for events\n"
	       "  -n, --count N      end after N events\n"
	       "      --all          errors: of ports without any too\n"
	       "      --test         path: move data there and back\n"
	       "  -h, --help         this text\n"
	       "  -V, --version      version\n"
	       "\n"
	       "Exit status: 0; 1 no fabric, a failure, refused, or no way; 2 wrong usage.\n");
}

uint32_t parse_number(const char *text, const char *what, uint64_t limit)
{
	uint64_t value;

	if (!tool_parse_size(text, &value) || value >= limit) {
		tool_warn("%s '%s' is no number below %" PRIu64, what, text, limit);
		tool_usage_error();
	}
	return (uint32_t)value;
}

struct neuron_port_info read_port(const struct chip *chip, uint32_t port)
{
	struct neuron_port_info info = { .size = sizeof(info) };

	if (neuron_port_get_info(chip->device, port, &info))
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	return info;
}

struct neuron_path_info read_path(const struct chip *chip, uint32_t peer, uint32_t flags)
{
	struct neuron_path_info path = { .size = sizeof(path) };

	if (neuron_fabric_get_path(chip->device, peer, flags, &path))
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	return path;
}

static bool ask(struct chip *chip)
{
	struct neuron_device_info info = { .size = sizeof(info) };

	chip->info.size = sizeof(chip->info);
	if (neuron_device_get_info(chip->device, &info) ||
	    neuron_fabric_get_info(chip->device, &chip->info))
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	return chip->info.kind != NEURON_FABRIC_NONE;
}

/* Devices with a fabric: all, or the one that @name names. */
static void find_chips(struct call *call, const char *name)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	struct neuron_device_entry *entries;
	struct neuron_device *named = NULL;
	unsigned int count, i;
	struct chip *chip;

	entries = tool_devices(&count);
	if (name) {
		named = tool_open(name);
		if (neuron_device_get_info(named, &info))
			tool_die(TOOL_FAILED, "%s", neuron_last_error());
	}
	call->chips = calloc(count, sizeof(*call->chips));
	if (!call->chips)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0; i < count; i++) {
		if (named && entries[i].accel != info.accel)
			continue;
		chip = &call->chips[call->num_chips];
		chip->entry = entries[i];
		chip->device = tool_open_index(entries[i].index);
		if (ask(chip))
			call->num_chips++;
		else
			neuron_device_close(chip->device);
	}
	neuron_device_close(named);
	free(entries);
	if (!call->num_chips)
		tool_die(TOOL_FAILED, "%s%s has a fabric: nothing joins it to other chips",
			 name ? "no device named " : "no device", name ? name : "");
}

static const struct command *find_command(struct call *call, int argc, char **argv)
{
	size_t i;

	if (!argc) {
		tool_warn("no command");
		tool_usage_error();
	}
	call->name = argv[0];
	call->args = argv + 1;
	call->num_args = (unsigned int)argc - 1;
	for (i = 0; i < NUM_COMMANDS; i++)
		if (!strcmp(commands[i].name, call->name))
			break;
	if (i == NUM_COMMANDS) {
		tool_warn("there is no command '%s'", call->name);
		tool_usage_error();
	}
	if (call->num_args < commands[i].min_args || call->num_args > commands[i].max_args) {
		tool_warn("%s: too %s arguments", call->name,
			  call->num_args < commands[i].min_args ? "few" : "many");
		tool_usage_error();
	}
	return &commands[i];
}

int main(int argc, char **argv)
{
	enum { OPT_ALL = 256, OPT_TEST };
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "force", no_argument, NULL, 'f' },
		{ "timeout", required_argument, NULL, 't' },
		{ "count", required_argument, NULL, 'n' },
		{ "all", no_argument, NULL, OPT_ALL },
		{ "test", no_argument, NULL, OPT_TEST },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct call call = { .timeout_ns = -1 };
	const struct command *command;
	const char *name = NULL;
	unsigned int i;
	int status, c;

	tool_name = "neuron-fabric";
	while ((c = getopt_long(argc, argv, "d:jft:n:hV", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			name = optarg;
			break;
		case 'j':
			call.json = true;
			break;
		case 'f':
			call.force = true;
			break;
		case 't':
			call.timeout_ns = parse_number(optarg, "time", 86401) * 1000000000ll;
			break;
		case 'n':
			call.count = parse_number(optarg, "count", UINT32_MAX);
			break;
		case OPT_ALL:
			call.all = true;
			break;
		case OPT_TEST:
			call.test = true;
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
	command = find_command(&call, argc - optind, argv + optind);
	find_chips(&call, name);
	if (command->one && call.num_chips > 1) {
		tool_warn("%s: there are %u devices, name one with --device", call.name,
			  call.num_chips);
		tool_usage_error();
	}
	status = command->run(&call);
	for (i = 0; i < call.num_chips; i++)
		neuron_device_close(call.chips[i].device);
	free(call.chips);
	return tool_finish(status);
}
