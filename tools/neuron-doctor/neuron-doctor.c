// SPDX-License-Identifier: MIT
/*
 * neuron-doctor: looks at one thing after the other, from the PCI bus up to the
 * permissions of the caller, and says what is wrong and what to do.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "regs/pci.h"
#include "tool.h"

/** enum grade - of a check; the worst one is the exit status */
enum grade { GRADE_OK = 0, GRADE_WARNING = 3, GRADE_PROBLEM = 1 };

/**
 * struct doctor - what was found
 */
struct doctor {
	struct json_object *rows;
	bool json;
	unsigned int problems, warnings;
};

/* Those that the driver takes. */
static const unsigned long device_ids[] = {
	TRN_PCI_DEVICE_TRAINIUM1, TRN_PCI_DEVICE_TRAINIUM2, TRN_PCI_DEVICE_TRAINIUM3,
	TRN_PCI_DEVICE_TRAINIUM3_B, TRN_PCI_DEVICE_TRAINIUM4,
};

static void print_usage(void)
{
	printf("usage: neuron-doctor [OPTION]\n"
	       "\n"
	       "Checks PCI, driver, firmware, memory, engines, links and permissions: a line for\n"
	       "each with what is wrong and what to do.\n"
	       "\n"
	       "  -j, --json     JSON array on standard output\n"
	       "  -h, --help     this text\n"
	       "  -V, --version  version\n"
	       "\n"
	       "Exit status: 0 all is well; 1 a problem; 2 wrong usage; 3 only warnings.\n");
}

/* A line: of what, how it is, and what to do (NULL if nothing). */
__attribute__((format(printf, 5, 6)))
static void tell(struct doctor *doctor, const char *check, enum grade grade, const char *advice,
		 const char *format, ...)
{
	const char *word = grade == GRADE_OK ? "ok" :
		grade == GRADE_WARNING ? "warning" : "problem";
	enum tool_color color = grade == GRADE_OK ? TOOL_GREEN :
		grade == GRADE_WARNING ? TOOL_YELLOW : TOOL_RED;
	struct json_object *row;
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	doctor->problems += grade == GRADE_PROBLEM;
	doctor->warnings += grade == GRADE_WARNING;
	if (!doctor->json) {
		printf("%-11s %s%-7s%s  %s%s%s\n", check, tool_paint(color), word,
		       tool_paint(TOOL_PLAIN), text, advice ? "; " : "", advice ? advice : "");
		return;
	}
	row = json_append(doctor->rows);
	json_string(row, "check", check);
	json_string(row, "status", word);
	json_string(row, "text", text);
	if (advice)
		json_string(row, "advice", advice);
}

/* First line of a file of a PCI device. */
static bool read_line(const char *bdf, const char *name, char *text, int size)
{
	char path[PATH_MAX];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", tool_sysfs, bdf, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	got = !!fgets(text, size, f);
	fclose(f);
	if (got)
		text[strcspn(text, "\n")] = '\0';
	return got;
}

static bool is_trainium(const char *bdf)
{
	char text[32];
	size_t i;

	if (!read_line(bdf, "vendor", text, sizeof(text)) ||
	    strtoul(text, NULL, 16) != TRN_PCI_VENDOR_ID ||
	    !read_line(bdf, "device", text, sizeof(text)))
		return false;
	for (i = 0; i < sizeof(device_ids) / sizeof(device_ids[0]); i++)
		if (strtoul(text, NULL, 16) == device_ids[i])
			return true;
	return false;
}

static void check_driver_of(struct doctor *doctor, const char *bdf)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", tool_sysfs, bdf);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0) {
		tell(doctor, "driver", GRADE_PROBLEM, "see dmesg, or run 'modprobe trainium'",
		     "no driver has %s", bdf);
		return;
	}
	target[n] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strcmp(name, "trainium"))
		tell(doctor, "driver", GRADE_PROBLEM,
		     "unbind it there, or unload that module, and bind trainium",
		     "driver %s has %s", name, bdf);
	else
		tell(doctor, "driver", GRADE_OK, NULL, "trainium has %s", bdf);
}

/* Without a problem a slow link is one line less; a model may have none. */
static void check_link(struct doctor *doctor, const char *bdf)
{
	char speed[32], most[32], width[16], most_width[16];

	if (!read_line(bdf, "current_link_speed", speed, sizeof(speed)) ||
	    !read_line(bdf, "max_link_speed", most, sizeof(most)) ||
	    !read_line(bdf, "current_link_width", width, sizeof(width)) ||
	    !read_line(bdf, "max_link_width", most_width, sizeof(most_width)))
		tell(doctor, "pci", GRADE_OK, NULL, "%s is there, without a link to see", bdf);
	else if (strcmp(speed, most) || strcmp(width, most_width))
		tell(doctor, "pci", GRADE_WARNING, "see 'lspci -vv' and what is between it and the CPU",
		     "%s has %s x%s of %s x%s", bdf, speed, width, most, most_width);
	else
		tell(doctor, "pci", GRADE_OK, NULL, "%s is there, %s x%s", bdf, speed, width);
}

static void check_pci(struct doctor *doctor)
{
	char path[PATH_MAX];
	struct dirent **list;
	unsigned int found = 0;
	int count, i;

	snprintf(path, sizeof(path), "%s/bus/pci/devices", tool_sysfs);
	count = scandir(path, &list, NULL, alphasort);
	for (i = 0; i < count; i++) {
		if (is_trainium(list[i]->d_name)) {
			found++;
			check_link(doctor, list[i]->d_name);
			check_driver_of(doctor, list[i]->d_name);
		}
		free(list[i]);
	}
	if (count >= 0)
		free(list);
	if (!found)
		tell(doctor, "pci", GRADE_PROBLEM,
		     "see 'lspci -d 1d0f:', and whether this machine or guest was given one",
		     "there is no Trainium on the PCI bus");
}

static void check_firmware(struct doctor *doctor, const struct neuron_device_info *info,
			   unsigned int index, const struct neuron_telemetry *t)
{
	if (t->health)
		tell(doctor, "firmware", GRADE_PROBLEM,
		     "see 'health' in Documentation/ABI; reset the device, then replace it",
		     "device %u: unhealthy, health word 0x%08x", index, t->health);
	else
		tell(doctor, "firmware", GRADE_OK, NULL,
		     "device %u: API version %u answers, %" PRIu64 " resets", index,
		     info->firmware_api, info->reset_count);
	if (t->sensors && t->throttle)
		tell(doctor, "firmware", GRADE_WARNING, "look after cooling and power",
		     "device %u: clock is throttled by %u.%02u%%", index, t->throttle / 100,
		     t->throttle % 100);
}

static void check_memory(struct doctor *doctor, struct neuron_device *device, unsigned int index,
			 const struct neuron_telemetry *t)
{
	struct neuron_memory_info memory = { .size = sizeof(memory) };
	uint64_t corrected = 0, uncorrected = t->sram_ecc_uncorrected;
	unsigned int i;

	if (neuron_device_get_memory(device, NEURON_STACK_ANY, &memory)) {
		tell(doctor, "memory", GRADE_PROBLEM, "see dmesg", "%s", neuron_last_error());
		return;
	}
	for (i = 0; i < NEURON_MAX_STACKS; i++) {
		corrected += t->hbm_ecc_corrected[i];
		uncorrected += t->hbm_ecc_uncorrected[i];
	}
	if (t->hbm_repair_state == NEURON_REPAIR_FAILED)
		tell(doctor, "memory", GRADE_PROBLEM, "replace the device",
		     "device %u: repair of HBM has failed", index);
	else if (t->hbm_repair_state == NEURON_REPAIR_PENDING)
		tell(doctor, "memory", GRADE_WARNING, "power-cycle the machine when it is idle",
		     "device %u: HBM waits for repair", index);
	else if (uncorrected)
		tell(doctor, "memory", GRADE_WARNING, "watch whether they grow (neuron-monitor)",
		     "device %u: %" PRIu64 " uncorrected errors", index, uncorrected);
	else
		tell(doctor, "memory", GRADE_OK, NULL,
		     "device %u: %s, %s free, %" PRIu64 " corrected errors", index,
		     tool_bytes(memory.total).text, tool_bytes(memory.free).text, corrected);
}

static void check_engines(struct doctor *doctor, struct neuron_device *device, unsigned int index,
			  const struct neuron_device_info *info)
{
	struct neuron_engine_info engine;
	unsigned int e, aborted = 0, out = 0;
	uint64_t resets = 0;

	for (e = 0; e < info->num_engines; e++) {
		engine.size = sizeof(engine);
		if (neuron_device_get_engine(device, e, &engine)) {
			tell(doctor, "engines", GRADE_PROBLEM, "see dmesg", "%s",
			     neuron_last_error());
			return;
		}
		aborted += !!engine.aborted && !engine.out_of_service;
		if (engine.out_of_service) {
			out++;
			tell(doctor, "engines", GRADE_PROBLEM,
			     "others do its work; a device reset tries it again (see dmesg)",
			     "device %u: engine %u is out of service: no reset has brought it back",
			     index, e);
		}
		resets += engine.resets;
	}
	if (aborted)
		tell(doctor, "engines", GRADE_PROBLEM, "see dmesg; the driver resets them",
		     "device %u: %u of %u are stopped by an error", index, aborted,
		     info->num_engines);
	else if (resets)
		tell(doctor, "engines", GRADE_WARNING, "see dmesg for the jobs that failed",
		     "device %u: engines were reset %" PRIu64 " times", index, resets);
	else if (!out)
		tell(doctor, "engines", GRADE_OK, NULL, "device %u: all of %u are fine", index,
		     info->num_engines);
}

static void check_links(struct doctor *doctor, struct neuron_device *device, unsigned int index)
{
	struct neuron_fabric_info fabric = { .size = sizeof(fabric) };
	unsigned int bad = 0, degraded = 0, unused = 0;
	struct neuron_port_info port;
	uint32_t p;

	if (neuron_fabric_get_info(device, &fabric)) {
		tell(doctor, "links", GRADE_PROBLEM, "see dmesg", "%s", neuron_last_error());
		return;
	}
	if (fabric.kind == NEURON_FABRIC_NONE) {
		tell(doctor, "links", GRADE_OK, NULL, "device %u: has no fabric", index);
		return;
	}
	for (p = 0; p < fabric.num_ports; p++) {
		port.size = sizeof(port);
		if (neuron_port_get_info(device, p, &port)) {
			tell(doctor, "links", GRADE_PROBLEM, "see dmesg", "%s",
			     neuron_last_error());
			return;
		}
		if (port.state == NEURON_PORT_DEGRADED)
			degraded++;
		else if (port.state == NEURON_PORT_UP)
			continue;
		else if (port.admin != NEURON_PORT_ADMIN_ENABLED ||
			 !(port.flags & NEURON_PORT_EXPECT))
			unused++;
		else
			bad++;
	}
	if (bad)
		tell(doctor, "links", GRADE_PROBLEM, "see 'neuron-fabric ports' for the reason",
		     "device %u: %u of %u ports should be up and are not", index, bad,
		     fabric.num_ports);
	else if (degraded || fabric.partition == 0xffff)
		tell(doctor, "links", GRADE_WARNING, "see 'neuron-fabric ports' and 'status'",
		     "device %u: %u of %u ports are degraded%s", index, degraded,
		     fabric.num_ports, fabric.partition == 0xffff ? ", in no partition" : "");
	else
		tell(doctor, "links", GRADE_OK, NULL, "device %u: %u of %u ports up, %u unused",
		     index, fabric.num_ports - unused, fabric.num_ports, unused);
}

static void check_device(struct doctor *doctor, const struct neuron_device_entry *entry)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	struct neuron_telemetry telemetry = { .size = sizeof(telemetry) };
	struct neuron_device *device;
	int ret = neuron_device_open(entry->index, &device);

	if (ret) {
		tell(doctor, "permissions", GRADE_PROBLEM,
		     ret == -EACCES ? "join the group that owns the node, usually 'render'" :
		     "see dmesg", "%s", neuron_last_error());
		return;
	}
	if (neuron_device_get_info(device, &info) ||
	    neuron_device_get_telemetry(device, &telemetry)) {
		tell(doctor, "firmware", GRADE_PROBLEM, "see dmesg, then reset the device", "%s",
		     neuron_last_error());
	} else {
		check_firmware(doctor, &info, entry->index, &telemetry);
		check_memory(doctor, device, entry->index, &telemetry);
		check_engines(doctor, device, entry->index, &info);
		check_links(doctor, device, entry->index);
		tell(doctor, "permissions", GRADE_OK, NULL, "device %u: %s can be opened",
		     entry->index, entry->node);
	}
	neuron_device_close(device);
}

static void check_devices(struct doctor *doctor)
{
	int count = neuron_enumerate(NULL, sizeof(struct neuron_device_entry), 0), i;
	struct neuron_device_entry *entries;

	if (count <= 0) {
		tell(doctor, "driver", GRADE_PROBLEM, "see dmesg; load it with 'modprobe trainium'",
		     "%s", neuron_last_error());
		return;
	}
	entries = calloc((size_t)count, sizeof(*entries));
	if (!entries)
		tool_die(TOOL_FAILED, "out of memory");
	i = neuron_enumerate(entries, sizeof(*entries), (uint32_t)count);
	if (i < count)
		count = i;
	for (i = 0; i < count; i++)
		check_device(doctor, &entries[i]);
	free(entries);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct doctor doctor = { 0 };
	int c;

	tool_name = "neuron-doctor";
	while ((c = getopt_long(argc, argv, "jhV", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			doctor.json = true;
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
	if (optind < argc) {
		tool_warn("unexpected argument '%s'", argv[optind]);
		tool_usage_error();
	}
	doctor.rows = json_object_new_array();
	check_pci(&doctor);
	check_devices(&doctor);
	if (doctor.json)
		json_print(doctor.rows);
	else
		json_object_put(doctor.rows);
	if (doctor.problems)
		tool_warn("%u problem%s, %u warning%s", doctor.problems,
			  doctor.problems == 1 ? "" : "s", doctor.warnings,
			  doctor.warnings == 1 ? "" : "s");
	return tool_finish(doctor.problems ? GRADE_PROBLEM :
			   doctor.warnings ? GRADE_WARNING : GRADE_OK);
}
