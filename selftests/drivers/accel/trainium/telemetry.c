// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the firmware tells: by query, sysfs, hwmon and events. The tests change
 * what it tells through the fault window of the model.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "trainium_fault_util.h"

/* Of the model, in microwatts */
#define IDLE_UW		100000000ull
#define MAX_UW		500000000ull

FIXTURE(telemetry) {
	int fd;
	int log;
	char bdf[32];
	char hwmon[PATH_MAX];
	bool can_fault;
	struct drm_trainium_query_telemetry t;
};

static int find_hwmon(const char *bdf, char *path, size_t size)
{
	char dir[PATH_MAX];
	struct dirent *entry;
	int found = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "/sys/bus/pci/devices/%s/hwmon", bdf);
	d = opendir(dir);
	while (d && (entry = readdir(d))) {
		if (strncmp(entry->d_name, "hwmon", 5))
			continue;
		snprintf(path, size, "%.200s/%.20s", dir, entry->d_name);
		found++;
	}
	if (d)
		closedir(d);
	return found;
}

/* NAME=VALUE */
static bool set(struct _test_data_telemetry *self, const char *text)
{
	return !trn_fault(self->bdf, text);
}

static int telemetry(int fd, struct drm_trainium_query_telemetry *t)
{
	return trn_query(fd, TRAINIUM_QUERY_TELEMETRY, 0, t, sizeof(*t));
}

static void as_before(struct _test_data_telemetry *self)
{
	static const char * const props[] = {
		"fw-dead=false", "ecc-sram-corrected=0", "ecc-sram-uncorrected=0",
		"hbm0-ecc-corrected=0", "hbm1-ecc-corrected=0", "hbm3-ecc-repairable=0",
		"hbm2-ecc-uncorrected=0", "hbm-repair-state=0", "health=0", "throttle=0",
		"power-die0=0", "power-die1=0", "temperature-die1=45000",
		"temperature-hbm3=50000",
	};
	unsigned int i;

	for (i = 0; self->can_fault && i < ARRAY_SIZE(props); i++)
		set(self, props[i]);
}

FIXTURE_SETUP(telemetry)
{
	self->log = trn_log_open();
	ASSERT_NE(NULL, trn_bdf(0));
	snprintf(self->bdf, sizeof(self->bdf), "%s", trn_bdf(0));
	self->fd = trn_open_again(self->bdf);
	ASSERT_LE(0, self->fd);
	self->can_fault = trn_can_fault(self->bdf);
	as_before(self);
	ASSERT_EQ(0, telemetry(self->fd, &self->t));
	find_hwmon(self->bdf, self->hwmon, sizeof(self->hwmon));
}

FIXTURE_TEARDOWN(telemetry)
{
	char line[1024];

	as_before(self);
	close(self->fd);
	close(trn_open_again(self->bdf));
	EXPECT_FALSE(trn_log_fault(self->log, line, sizeof(line))) {
		TH_LOG("%s", line);
	}
	close(self->log);
}

/* The first line of a file as a number; -errno */
static __s64 number(const char *dir, const char *name)
{
	char path[PATH_MAX + 64], text[64];
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ret = trn_read_file(path, text, sizeof(text));
	return ret < 0 ? ret : strtoll(text, NULL, 0);
}

static __s64 sysfs(struct _test_data_telemetry *self, const char *name)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "/sys/bus/pci/devices/%s", self->bdf);
	return number(dir, name);
}

static bool text_is(const char *dir, const char *name, const char *want)
{
	char path[PATH_MAX + 64], text[64];
	size_t len = strlen(want);

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return trn_read_file(path, text, sizeof(text)) == (int)len + 1 &&
	       !strncmp(text, want, len) && text[len] == '\n';
}

/* A program of version 1.0 knows of the first 104 bytes. */
TEST_F(telemetry, short_query)
{
	struct drm_trainium_query_telemetry t;
	__u8 *bytes = (void *)&t;

	memset(&t, 0xee, sizeof(t));
	ASSERT_EQ(0, trn_query(self->fd, TRAINIUM_QUERY_TELEMETRY, 0, &t, 104));
	EXPECT_EQ(-1, trn_check_byte(bytes + 104, sizeof(t) - 104, 0xee));
	EXPECT_EQ(0, t.pad);
	EXPECT_EQ(104, offsetof(struct drm_trainium_query_telemetry, valid));
}

TEST_F(telemetry, healthy)
{
	struct drm_trainium_query_device device;
	const struct trn_generation *g;
	__u32 valid = 0, i;
	char name[32];

	ASSERT_EQ(0, trn_device(self->fd, &device));
	g = trn_generation(device.generation);
	ASSERT_NE(NULL, g);
	if (device.fw_api_version >= 3)
		valid |= TRAINIUM_TELEMETRY_POWER_UTIL;
	if (device.fw_api_version >= 6)
		valid |= TRAINIUM_TELEMETRY_HEALTH | TRAINIUM_TELEMETRY_REPAIRABLE;
	EXPECT_EQ(valid, self->t.valid & ~TRAINIUM_TELEMETRY_SENSORS);
	EXPECT_EQ(0, self->t.health);
	EXPECT_EQ(0, self->t.hbm_repair_state);
	EXPECT_EQ(-1, trn_check_byte(self->t.hbm_ecc_corrected, 32, 0));
	EXPECT_EQ(-1, trn_check_byte(self->t.hbm_ecc_uncorrected, 32, 0));
	/* Attributes that have nothing to tell are not there. */
	EXPECT_EQ(valid & TRAINIUM_TELEMETRY_HEALTH ? 0 : -ENOENT, sysfs(self, "health"));
	EXPECT_EQ(valid & TRAINIUM_TELEMETRY_REPAIRABLE ? 0 : -ENOENT,
		  sysfs(self, "ecc/hbm0_repairable"));
	for (i = 0; i <= TRN_MAX_STACKS; i++) {
		snprintf(name, sizeof(name), "ecc/hbm%u_corrected", i);
		EXPECT_EQ(i < g->stacks ? 0 : -ENOENT, sysfs(self, name));
		snprintf(name, sizeof(name), "power_utilization/die%u", i);
		EXPECT_EQ(i < g->dies && (valid & TRAINIUM_TELEMETRY_POWER_UTIL) ? 0 : -ENOENT,
			  sysfs(self, name));
	}
	/* Without sensors there is no hwmon. */
	EXPECT_EQ(!!(self->t.valid & TRAINIUM_TELEMETRY_SENSORS),
		  find_hwmon(self->bdf, self->hwmon, sizeof(self->hwmon)));
	if (self->t.valid & TRAINIUM_TELEMETRY_SENSORS) {
		EXPECT_EQ(g->dies, self->t.num_dies);
		EXPECT_EQ(g->stacks, self->t.num_stacks);
		EXPECT_LT(self->t.temperature_max, self->t.temperature_crit);
	} else {
		EXPECT_EQ(-1, trn_check_byte(&self->t.power_uw, 24, 0));
	}
}

TEST_F(telemetry, heartbeat)
{
	__s64 first = sysfs(self, "heartbeat");
	struct drm_trainium_query_telemetry t;

	if (!(self->t.valid & TRAINIUM_TELEMETRY_HEALTH))
		SKIP(return, "old firmware");
	ASSERT_LE(0, first);
	trn_sleep(300 * TRN_MSEC);
	EXPECT_NE(first, sysfs(self, "heartbeat"));
	ASSERT_EQ(0, telemetry(self->fd, &t));
	EXPECT_NE(self->t.heartbeat, t.heartbeat);
}

TEST_F(telemetry, counters)
{
	struct drm_trainium_query_telemetry t;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	ASSERT_TRUE(set(self, "ecc-sram-corrected=3"));
	ASSERT_TRUE(set(self, "ecc-sram-uncorrected=2"));
	ASSERT_TRUE(set(self, "hbm1-ecc-corrected=65535"));
	ASSERT_TRUE(set(self, "hbm2-ecc-uncorrected=5"));
	ASSERT_TRUE(set(self, "hbm3-ecc-repairable=7"));
	ASSERT_TRUE(set(self, "hbm-repair-state=1"));
	ASSERT_TRUE(set(self, "health=0x48"));
	ASSERT_TRUE(set(self, "power-die1=4321"));
	ASSERT_EQ(0, telemetry(self->fd, &t));
	EXPECT_EQ(3, t.sram_ecc_corrected);
	EXPECT_EQ(2, t.sram_ecc_uncorrected);
	EXPECT_EQ(65535, t.hbm_ecc_corrected[1]);
	EXPECT_EQ(0, t.hbm_ecc_corrected[0]);
	EXPECT_EQ(5, t.hbm_ecc_uncorrected[2]);
	EXPECT_EQ(0, t.hbm_ecc_repairable[2]);
	EXPECT_EQ(7, t.hbm_ecc_uncorrected[3]);
	EXPECT_EQ(7, t.hbm_ecc_repairable[3]);
	EXPECT_EQ(1, t.hbm_repair_state);
	EXPECT_EQ(0x48, t.health);
	EXPECT_EQ(0, t.power_util[0]);
	EXPECT_EQ(4321, t.power_util[1]);

	EXPECT_EQ(3, sysfs(self, "ecc/sram_corrected"));
	EXPECT_EQ(2, sysfs(self, "ecc/sram_uncorrected"));
	EXPECT_EQ(65535, sysfs(self, "ecc/hbm1_corrected"));
	EXPECT_EQ(0, sysfs(self, "ecc/hbm0_corrected"));
	EXPECT_EQ(5, sysfs(self, "ecc/hbm2_uncorrected"));
	EXPECT_EQ(0, sysfs(self, "ecc/hbm2_repairable"));
	EXPECT_EQ(7, sysfs(self, "ecc/hbm3_uncorrected"));
	EXPECT_EQ(7, sysfs(self, "ecc/hbm3_repairable"));
	EXPECT_EQ(0x48, sysfs(self, "health"));
	EXPECT_EQ(4321, sysfs(self, "power_utilization/die1"));
}

TEST_F(telemetry, repair_state)
{
	static const char * const names[] = { "none", "pending", "failed", "unknown" };
	char text[32], dir[PATH_MAX];
	unsigned int i;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	snprintf(dir, sizeof(dir), "/sys/bus/pci/devices/%s", self->bdf);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(text, sizeof(text), "hbm-repair-state=%u", i);
		ASSERT_TRUE(set(self, text));
		EXPECT_TRUE(text_is(dir, "hbm_repair_state", names[i])) TH_LOG("%s", names[i]);
	}
}

TEST_F(telemetry, hwmon_power)
{
	__s64 start, ns, energy, expected;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	EXPECT_TRUE(text_is(self->hwmon, "name", "trainium"));
	EXPECT_TRUE(text_is(self->hwmon, "power1_label", "chip"));
	EXPECT_TRUE(text_is(self->hwmon, "energy1_label", "chip"));
	EXPECT_EQ(IDLE_UW, number(self->hwmon, "power1_input"));
	EXPECT_EQ(MAX_UW, number(self->hwmon, "power1_rated_max"));
	EXPECT_EQ(0, number(self->hwmon, "power1_alarm"));
	ASSERT_TRUE(set(self, "power-die0=10000"));
	EXPECT_EQ((IDLE_UW + MAX_UW) / 2, number(self->hwmon, "power1_input"));
	ASSERT_TRUE(set(self, "power-die1=10000"));
	EXPECT_EQ(MAX_UW, number(self->hwmon, "power1_input"));

	/* Energy is power by time. */
	energy = number(self->hwmon, "energy1_input");
	start = trn_now();
	trn_sleep(TRN_SEC);
	energy = number(self->hwmon, "energy1_input") - energy;
	ns = trn_now() - start;
	expected = ns / 1000000 * (MAX_UW / 1000);
	EXPECT_LT(expected / 2, energy);
	EXPECT_GT(expected * 2, energy);
	/* A reset does not set it back. */
	energy = number(self->hwmon, "energy1_input");
	ASSERT_LT(0, trn_write_sysfs(self->bdf, "reset", "1") + 1);
	EXPECT_LE(energy, number(self->hwmon, "energy1_input"));

	ASSERT_TRUE(set(self, "throttle=1"));
	EXPECT_EQ(1, number(self->hwmon, "power1_alarm"));
	ASSERT_EQ(0, telemetry(self->fd, &self->t));
	EXPECT_EQ(1, self->t.throttle);
	EXPECT_EQ(MAX_UW, self->t.power_uw);
	EXPECT_LE(energy, self->t.energy_uj);
}

TEST_F(telemetry, hwmon_temperature)
{
	static const char * const labels[] = { "die0", "die1", "hbm0", "hbm1", "hbm2", "hbm3" };
	char name[32];
	unsigned int i;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	for (i = 0; i < ARRAY_SIZE(labels); i++) {
		snprintf(name, sizeof(name), "temp%u_label", i + 1);
		EXPECT_TRUE(text_is(self->hwmon, name, labels[i])) TH_LOG("%s", name);
		snprintf(name, sizeof(name), "temp%u_input", i + 1);
		EXPECT_EQ(i < 2 ? 45000 : 50000, number(self->hwmon, name));
		EXPECT_EQ(i < 2 ? 45000 : 50000, self->t.temperature[i]);
		snprintf(name, sizeof(name), "temp%u_crit_alarm", i + 1);
		EXPECT_EQ(0, number(self->hwmon, name));
	}
	EXPECT_EQ(-ENOENT, number(self->hwmon, "temp7_input"));
	EXPECT_EQ(self->t.temperature_max, number(self->hwmon, "temp2_max"));
	EXPECT_EQ(self->t.temperature_crit, number(self->hwmon, "temp2_crit"));

	ASSERT_TRUE(set(self, "temperature-die1=94999"));
	EXPECT_EQ(0, number(self->hwmon, "temp2_max_alarm"));
	ASSERT_TRUE(set(self, "temperature-die1=95000"));
	EXPECT_EQ(95000, number(self->hwmon, "temp2_input"));
	EXPECT_EQ(1, number(self->hwmon, "temp2_max_alarm"));
	EXPECT_EQ(0, number(self->hwmon, "temp2_crit_alarm"));
	EXPECT_EQ(0, number(self->hwmon, "temp1_max_alarm"));
	ASSERT_TRUE(set(self, "temperature-die1=105000"));
	EXPECT_EQ(1, number(self->hwmon, "temp2_crit_alarm"));
	ASSERT_TRUE(set(self, "temperature-hbm3=0"));
	EXPECT_EQ(0, number(self->hwmon, "temp6_input"));
}

/* All that is below a directory */
static unsigned int check_files(struct __test_metadata *_metadata, const char *dir)
{
	char path[PATH_MAX + 256], text[4096];
	unsigned int files = 0;
	struct dirent *entry;
	struct stat st;
	int len;
	DIR *d = opendir(dir);

	while (d && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (lstat(path, &st) || !S_ISREG(st.st_mode) || !strcmp(entry->d_name, "uevent"))
			continue;
		EXPECT_EQ(0444, st.st_mode & 0777) TH_LOG("%s", path);
		len = trn_read_file(path, text, sizeof(text));
		EXPECT_LT(1, len) TH_LOG("%s: %d", path, len);
		if (len > 0)
			EXPECT_EQ(len - 1, strcspn(text, "\n")) TH_LOG("%s", path);
		files++;
	}
	if (d)
		closedir(d);
	return files;
}

/* H2: for everybody to read, nobody to write; one value, one line */
TEST_F(telemetry, modes)
{
	static const char * const names[] = { "health", "heartbeat", "hbm_repair_state" };
	struct drm_trainium_query_device device;
	const struct trn_generation *g;
	char path[PATH_MAX];
	struct stat st;
	int i;

	ASSERT_EQ(0, trn_device(self->fd, &device));
	g = trn_generation(device.generation);
	ASSERT_NE(NULL, g);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/ecc", self->bdf);
	EXPECT_LE(2 + 2 * (int)g->stacks, check_files(_metadata, path));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/power_utilization", self->bdf);
	if (self->t.valid & TRAINIUM_TELEMETRY_POWER_UTIL)
		EXPECT_EQ((int)g->dies, check_files(_metadata, path));
	if (self->t.valid & TRAINIUM_TELEMETRY_SENSORS)
		EXPECT_LE(10 + 5 * (int)(g->dies + g->stacks), check_files(_metadata, self->hwmon));
	for (i = 0; i < (int)ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", self->bdf, names[i]);
		if (i == 2 || self->t.valid & TRAINIUM_TELEMETRY_HEALTH) {
			ASSERT_EQ(0, stat(path, &st)) TH_LOG("%s", path);
			EXPECT_EQ(0444, st.st_mode & 0777) TH_LOG("%s", path);
		}
	}
}

static int look_as_user(void *arg)
{
	struct _test_data_telemetry *self = arg;
	struct drm_trainium_query_telemetry t;
	char path[PATH_MAX];
	int fd;

	if (trn_user_node(0, path, sizeof(path)) || trn_become_user())
		return 1;
	fd = open(path, O_RDWR);
	if (fd < 0 || telemetry(fd, &t))
		return 2;
	if (sysfs(self, "ecc/hbm0_corrected") < 0 || sysfs(self, "hbm_repair_state") < 0)
		return 3;
	if (t.valid & TRAINIUM_TELEMETRY_SENSORS && number(self->hwmon, "power1_input") < 0)
		return 4;
	return 0;
}

TEST_F(telemetry, as_user)
{
	EXPECT_EQ(0, trn_in_child(look_as_user, self));
}

static int subscribe(int fd, __u64 types)
{
	struct drm_trainium_events args = {
		.types = types,
		.flags = TRAINIUM_EVENTS_NONBLOCK,
		.record_size = sizeof(struct drm_trainium_event),
	};
	int ret = trn_ioctl(fd, DRM_IOCTL_TRAINIUM_EVENTS, &args);

	return ret ?: args.fd;
}

static bool next(int sub, struct drm_trainium_event *event)
{
	struct pollfd p = { .fd = sub, .events = POLLIN };

	memset(event, 0xee, sizeof(*event));
	return poll(&p, 1, 10000) == 1 && read(sub, event, sizeof(*event)) == sizeof(*event);
}

/* The driver's look at the state that the test begins with is over. */
static void settle(int sub)
{
	struct drm_trainium_event event;
	struct pollfd p = { .fd = sub, .events = POLLIN };

	while (poll(&p, 1, 200) == 1 && read(sub, &event, sizeof(event)) > 0)
		;
}

TEST_F(telemetry, ecc_events)
{
	static const struct {
		const char *text;
		__u32 stack, kind;
		__u64 before, count;
	} changes[] = {
		{ "ecc-sram-corrected=1", TRAINIUM_ECC_SRAM, TRAINIUM_ECC_CORRECTED, 0, 1 },
		{ "ecc-sram-uncorrected=2", TRAINIUM_ECC_SRAM, TRAINIUM_ECC_UNCORRECTED, 0, 2 },
		{ "hbm1-ecc-corrected=9", 1, TRAINIUM_ECC_CORRECTED, 0, 9 },
		{ "hbm1-ecc-corrected=10", 1, TRAINIUM_ECC_CORRECTED, 9, 10 },
		{ "hbm2-ecc-uncorrected=4", 2, TRAINIUM_ECC_UNCORRECTED, 0, 4 },
		{ "hbm3-ecc-repairable=6", 3, TRAINIUM_ECC_REPAIRABLE, 0, 6 },
		{ "hbm-repair-state=2", 0, TRAINIUM_ECC_REPAIR, 0, 2 },
		{ "hbm-repair-state=0", 0, TRAINIUM_ECC_REPAIR, 2, 0 },
	};
	struct drm_trainium_event event;
	unsigned int i;
	int sub;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	sub = subscribe(self->fd, 1ull << TRAINIUM_EVENT_ECC);
	ASSERT_LE(0, sub);
	settle(sub);
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		ASSERT_TRUE(set(self, changes[i].text));
		ASSERT_TRUE(next(sub, &event)) TH_LOG("%s", changes[i].text);
		EXPECT_EQ(TRAINIUM_EVENT_ECC, event.type);
		EXPECT_EQ(changes[i].stack, event.ecc.stack);
		EXPECT_EQ(changes[i].kind, event.ecc.kind);
		EXPECT_EQ(changes[i].before, event.ecc.before);
		EXPECT_EQ(changes[i].count, event.ecc.count);
		EXPECT_EQ(0, event.ecc.pad);
	}
	/* What others are told is not told here. */
	ASSERT_TRUE(set(self, "health=8"));
	trn_sleep(100 * TRN_MSEC);
	EXPECT_EQ(-1, read(sub, &event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);
}

/* By record, and by poll() on the attribute */
TEST_F(telemetry, health_event)
{
	struct drm_trainium_event event;
	struct pollfd p = { .events = POLLPRI };
	char path[PATH_MAX], text[32];
	int sub;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	sub = subscribe(self->fd, 1ull << TRAINIUM_EVENT_HEALTH);
	ASSERT_LE(0, sub);
	settle(sub);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/health", self->bdf);
	p.fd = open(path, O_RDONLY);
	ASSERT_LE(0, p.fd);
	ASSERT_LT(0, read(p.fd, text, sizeof(text)));
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_TRUE(set(self, "health=0x808"));
	ASSERT_TRUE(next(sub, &event));
	EXPECT_EQ(TRAINIUM_EVENT_HEALTH, event.type);
	EXPECT_EQ(0x808, event.health.health);
	EXPECT_EQ(0, event.health.before);
	EXPECT_EQ(1, poll(&p, 1, 10000));
	EXPECT_NE(0, p.revents & POLLPRI);
	ASSERT_TRUE(set(self, "health=0x800"));
	ASSERT_TRUE(next(sub, &event));
	EXPECT_EQ(0x800, event.health.health);
	EXPECT_EQ(0x808, event.health.before);
}

TEST_F(telemetry, thermal_events)
{
	static const struct {
		const char *text;
		__u32 alarm, sensor, on;
		__s64 value, limit;
	} changes[] = {
		{ "throttle=2500", TRAINIUM_ALARM_THROTTLE, 0, 1, 2500, 1 },
		{ "throttle=0", TRAINIUM_ALARM_THROTTLE, 0, 0, 0, 1 },
		{ "temperature-die1=95000", TRAINIUM_ALARM_TEMP_MAX, 1, 1, 95000, 95000 },
		{ "temperature-die1=105001", TRAINIUM_ALARM_TEMP_CRIT, 1, 1, 105001, 105000 },
		{ "temperature-die1=104999", TRAINIUM_ALARM_TEMP_CRIT, 1, 0, 104999, 105000 },
		{ "temperature-hbm3=99999", TRAINIUM_ALARM_TEMP_MAX, 5, 1, 99999, 95000 },
	};
	struct drm_trainium_event event;
	unsigned int i;
	int sub;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	sub = subscribe(self->fd, 1ull << TRAINIUM_EVENT_THERMAL);
	ASSERT_LE(0, sub);
	settle(sub);
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		ASSERT_TRUE(set(self, changes[i].text));
		ASSERT_TRUE(next(sub, &event)) TH_LOG("%s", changes[i].text);
		EXPECT_EQ(TRAINIUM_EVENT_THERMAL, event.type);
		EXPECT_EQ(changes[i].alarm, event.thermal.alarm);
		EXPECT_EQ(changes[i].sensor, event.thermal.sensor);
		EXPECT_EQ(changes[i].on, event.thermal.on);
		EXPECT_EQ(changes[i].value, event.thermal.value);
		EXPECT_EQ(changes[i].limit, event.thermal.limit);
	}
	/* Warmer, but not across a limit */
	ASSERT_TRUE(set(self, "temperature-hbm3=99998"));
	trn_sleep(100 * TRN_MSEC);
	EXPECT_EQ(-1, read(sub, &event, sizeof(event)));
}

/* Nothing waits for a firmware that is dead, and nothing is made up. */
TEST_F(telemetry, dead_firmware)
{
	struct drm_trainium_event event;
	int sub;

	if (!self->can_fault)
		SKIP(return, "no fault window");
	ASSERT_TRUE(set(self, "hbm1-ecc-corrected=5"));
	sub = subscribe(self->fd, ~0ull >> (63 - TRAINIUM_EVENT_THERMAL) &
			~(1ull << TRAINIUM_EVENT_GONE));
	ASSERT_LE(0, sub);
	settle(sub);
	ASSERT_TRUE(set(self, "fw-dead=true"));
	EXPECT_EQ(-ETIME, telemetry(self->fd, &self->t));
	EXPECT_EQ(-ETIME, sysfs(self, "ecc/hbm1_corrected"));
	EXPECT_EQ(-ETIME, sysfs(self, "health"));
	EXPECT_EQ(-ETIME, sysfs(self, "hbm_repair_state"));
	EXPECT_EQ(-ENODATA, number(self->hwmon, "power1_input"));
	EXPECT_EQ(-ENODATA, number(self->hwmon, "temp1_input"));
	EXPECT_EQ(-ENODATA, number(self->hwmon, "temp1_crit_alarm"));
	ASSERT_TRUE(set(self, "fw-dead=false"));
	EXPECT_EQ(5, sysfs(self, "ecc/hbm1_corrected"));
	EXPECT_EQ(IDLE_UW, number(self->hwmon, "power1_input"));
	EXPECT_EQ(-1, read(sub, &event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);
}

/* Files that are open when the device goes */
TEST_F(telemetry, unplugged)
{
	char path[PATH_MAX + 32], text[64];
	int attr, hwmon = -1;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/ecc/hbm0_corrected", self->bdf);
	attr = open(path, O_RDONLY);
	ASSERT_LE(0, attr);
	if (self->t.valid & TRAINIUM_TELEMETRY_SENSORS) {
		snprintf(path, sizeof(path), "%s/power1_input", self->hwmon);
		hwmon = open(path, O_RDONLY);
		ASSERT_LE(0, hwmon);
	}
	ASSERT_LT(0, pread(attr, text, sizeof(text), 0));
	ASSERT_EQ(0, trn_write_file("/sys/bus/pci/drivers/trainium/unbind", self->bdf));
	EXPECT_EQ(-ENODEV, telemetry(self->fd, &self->t));
	EXPECT_EQ(-1, pread(attr, text, sizeof(text), 0));
	EXPECT_EQ(ENODEV, errno);
	if (hwmon >= 0) {
		EXPECT_EQ(-1, pread(hwmon, text, sizeof(text), 0));
		EXPECT_EQ(ENODEV, errno);
	}
	EXPECT_EQ(-ENOENT, sysfs(self, "health"));
	close(self->fd);
	self->fd = trn_open_again(self->bdf);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, telemetry(self->fd, &self->t));
}

TEST_HARNESS_MAIN
