// SPDX-License-Identifier: MIT
/*
 * Puts the simulated driver of the library's tests behind a tool, before its
 * main() runs. FAKE says what kind of machine it is; words apart from each other
 * by blanks.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mock.h"
#include "tool.h"

static bool has(const char *word)
{
	const char *words = getenv("FAKE");

	return words && strstr(words, word);
}

/* As the driver's debugfs has them, of the first device */
static void add_groups(void)
{
	char path[PATH_MAX], *end;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kernel/debug/accel/0000:00:04.0/", tool_sysfs);
	for (end = strstr(path, "kernel/"); (end = strchr(end, '/')); *end++ = '/') {
		*end = '\0';
		mkdir(path, 0755);
	}
	strcat(path, "groups");
	f = fopen(path, "we");
	if (!f)
		abort();
	fputs("group owner        members slots state\n"
	      "3     0000:00:04.0 2       0x5   whole\n"
	      "4     0000:00:05.0 1       0     broken\n", f);
	fclose(f);
}

static void clean_up(void)
{
	mock_remove_files();
}

__attribute__((constructor))
static void set_up(void)
{
	mock_setup(NULL);
	tool_sysfs = nrn_backend->sys_dir;
	atexit(clean_up);
	mock.path = TRAINIUM_PATH_OK;
	mock.port_state = TRAINIUM_PORT_UP;
	if (has("no-device"))
		mock_remove_devices();
	if (has("no-module"))
		mock_load_module(false);
	if (has("no-permission"))
		mock.open_error = -EACCES;
	if (!has("no-fabric"))
		mock.features |= TRAINIUM_FEATURE_FABRIC;
	if (has("port-failed")) {
		mock.port_state = TRAINIUM_PORT_FAILED;
		mock.port_reason = TRAINIUM_PORT_REASON_NO_PEER;
	}
	if (has("path-down"))
		mock.path = TRAINIUM_PATH_DOWN;
	mock.torus = has("torus");
	mock.busy = has("at-work");
	mock.aborted = has("aborted");
	mock.out_of_service = has("out-of-service");
	if (has("unhealthy"))
		mock.health = 8;
	if (has("repair-pending"))
		mock.repair = NEURON_REPAIR_PENDING;
	if (has("other-driver")) {
		mock_remove_devices();
		mock_add_device(0, "0000:00:04.0", "neuron", true);
	}
	if (has("gone-later")) {
		mock.fail_request = DRM_IOCTL_TRAINIUM_QUERY;
		mock.fail_error = -ENODEV;
		mock.fail_count = ~0u;
		mock.fail_skip = 2000;
	}
	if (has("groups"))
		add_groups();
	if (has("busy"))
		mock.port_error = -EBUSY;
}
