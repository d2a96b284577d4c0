// SPDX-License-Identifier: MIT
/*
 * The fake sysfs and device nodes, in a directory of its own for each test.
 */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mock_internal.h"

static char top[64], sys_dir[96], dev_dir[96];
static struct nrn_backend backend;

static void make_dirs(const char *path)
{
	char copy[PATH_MAX], *p;

	snprintf(copy, sizeof(copy), "%s/", path);
	for (p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(copy, 0755);
		*p = '/';
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

void mock_add_device(unsigned int accel, const char *pci, const char *driver, bool node)
{
	char device[PATH_MAX / 2], path[PATH_MAX], target[PATH_MAX];

	snprintf(device, sizeof(device), "%s/devices/pci0000:00/%s", sys_dir, pci);
	snprintf(path, sizeof(path), "%s/accel/accel%u", device, accel);
	make_dirs(path);
	snprintf(target, sizeof(target), "%s/device", path);
	assert_int_equal(symlink(device, target), 0);
	snprintf(target, sizeof(target), "%s/numa_node", device);
	write_file(target, "1\n");
	snprintf(target, sizeof(target), "%s/local_cpulist", device);
	write_file(target, "0-3,8\n");
	snprintf(target, sizeof(target), "%s/vendor", device);
	write_file(target, "0x1d0f\n");
	snprintf(target, sizeof(target), "%s/device", device);
	write_file(target, "0x7364\n");
	snprintf(path, sizeof(path), "%s/bus/pci/devices", sys_dir);
	make_dirs(path);
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", sys_dir, pci);
	assert_int_equal(symlink(device, path), 0);
	snprintf(target, sizeof(target), "%s/bus/pci/drivers/%s", sys_dir, driver);
	make_dirs(target);
	snprintf(path, sizeof(path), "%s/driver", device);
	assert_int_equal(symlink(target, path), 0);

	snprintf(path, sizeof(path), "%s/class/accel", sys_dir);
	make_dirs(path);
	snprintf(path, sizeof(path), "%s/class/accel/accel%u", sys_dir, accel);
	snprintf(target, sizeof(target), "%s/accel/accel%u", device, accel);
	assert_int_equal(symlink(target, path), 0);
	if (!node)
		return;
	snprintf(path, sizeof(path), "%s/accel%u", dev_dir, accel);
	write_file(path, "");
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void mock_remove_devices(void)
{
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	make_dirs(sys_dir);
	make_dirs(dev_dir);
}

void mock_load_module(bool loaded)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/module/trainium", sys_dir);
	if (loaded)
		make_dirs(path);
	else
		rmdir(path);
}

int mock_setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(top, sizeof(top), "%.30s/neuron-test-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(top));
	snprintf(sys_dir, sizeof(sys_dir), "%s/sys", top);
	snprintf(dev_dir, sizeof(dev_dir), "%s/dev", top);
	make_dirs(sys_dir);
	make_dirs(dev_dir);
	mock_load_module(true);
	mock_add_device(0, "0000:00:04.0", "trainium", true);
	mock_add_device(1, "0000:00:05.0", "trainium", true);
	mock_reset();
	backend = mock_backend_template;
	backend.sys_dir = sys_dir;
	backend.dev_dir = dev_dir;
	nrn_backend = &backend;
	return 0;
}

void mock_remove_files(void)
{
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int mock_teardown(void **state)
{
	(void)state;
	mock_run(~0u);
	mock_check_empty();
	mock_remove_files();
	return 0;
}

const char *strstr_or_print(const char *text, const char *part)
{
	const char *found = strstr(text, part);

	if (!found)
		print_error("\"%s\" is not in \"%s\"\n", part, text);
	return found;
}
