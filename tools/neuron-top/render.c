// SPDX-License-Identifier: MIT
/*
 * neuron-top: pages of text out of a sample.
 */
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top.h"

#define TEXT 512

static const char *const views[NUM_VIEWS] = { "Overview", "Device", "Links", "Processes" };
static const char *const orders[NUM_ORDERS] = { "HBM", "PID", "time" };

const char *view_name(enum view view)
{
	return views[view];
}

const char *order_name(enum order order)
{
	return orders[order];
}

__attribute__((format(printf, 2, 3)))
static void put(struct page *page, const char *format, ...)
{
	char *line = NULL;
	va_list args;
	int ret;

	va_start(args, format);
	ret = vasprintf(&line, format, args);
	va_end(args);
	if (ret >= 0 && page->count == page->room) {
		page->room = 2 * page->room + 64;
		page->line = realloc(page->line, page->room * sizeof(*page->line));
	}
	if (ret < 0 || !page->line)
		tool_die(TOOL_FAILED, "out of memory");
	page->line[page->count++] = line;
}

void page_clear(struct page *page)
{
	while (page->count)
		free(page->line[--page->count]);
	page->head = 0;
}

void page_print(const struct page *page)
{
	unsigned int i;
	const char *p;
	int blanks;

	for (i = 0; i < page->count; i++) {
		/* No blanks at the end of a line. */
		for (p = page->line[i], blanks = 0; *p; p++) {
			if (*p <= MARK_END[0])
				continue;
			if (*p == ' ') {
				blanks++;
				continue;
			}
			printf("%*s%c", blanks, "", *p);
			blanks = 0;
		}
		putchar('\n');
	}
}

/* "[|||||     ]" of @width columns in all; @size bytes of @text hold it. */
static const char *bar(char *text, size_t size, double percent, int width)
{
	int room = width - 2, full = (int)(percent * room / 100 + 0.5), i;
	const char *mark = percent >= 90 ? MARK_RED : percent >= 70 ? MARK_YELLOW : MARK_GREEN;
	size_t n;

	if (room < 1 || (size_t)width + 4 > size)
		return "";
	/* What is not nothing can be seen. */
	if (!full && percent > 0.5)
		full = 1;
	n = (size_t)snprintf(text, size, "[%s", mark);
	for (i = 0; i < room; i++)
		text[n++] = i < full ? '|' : ' ';
	snprintf(text + n, size - n, "%s]", MARK_END);
	return text;
}

static struct tool_text rate(double bytes)
{
	struct tool_text text;

	if (bytes >= 1e11)
		snprintf(text.text, sizeof(text.text), "%.0f GB/s", bytes / 1e9);
	else if (bytes >= 1e9)
		snprintf(text.text, sizeof(text.text), "%.2f GB/s", bytes / 1e9);
	else if (bytes >= 1e6)
		snprintf(text.text, sizeof(text.text), "%.1f MB/s", bytes / 1e6);
	else if (bytes > 0)
		snprintf(text.text, sizeof(text.text), "%.1f kB/s", bytes / 1e3);
	else
		snprintf(text.text, sizeof(text.text), "-");
	return text;
}

/* "1.5G", as top has it */
static struct tool_text size_text(uint64_t bytes)
{
	static const char unit[] = "BKMGTP";
	double value = (double)bytes;
	struct tool_text text;
	int u = 0;

	for (; value >= 1024 && u < 5; u++)
		value /= 1024;
	if (!u || value >= 100)
		snprintf(text.text, sizeof(text.text), "%.0f%c", value, unit[u]);
	else
		snprintf(text.text, sizeof(text.text), "%.1f%c", value, unit[u]);
	return text;
}

static struct tool_text power_text(const struct sample_device *device)
{
	struct tool_text text = { "-" };

	if (device->telemetry.sensors)
		snprintf(text.text, sizeof(text.text), "%.0fW",
			 (double)device->telemetry.power_uw / 1e6);
	return text;
}

static struct tool_text temperature_text(const struct sample_device *device)
{
	struct tool_text text = { "-" };
	int32_t temperature;

	if (sample_temperature(device, &temperature))
		snprintf(text.text, sizeof(text.text), "%dC", temperature / 1000);
	return text;
}

static struct tool_text links_text(const struct sample_device *device)
{
	struct tool_text text = { "-" };

	if (device->fabric.num_ports)
		snprintf(text.text, sizeof(text.text), "%d/%u",
			 __builtin_popcountll(device->fabric.ports_up), device->fabric.num_ports);
	return text;
}

static bool is_healthy(const struct sample_device *device)
{
	return !device->telemetry.health &&
	       device->telemetry.hbm_repair_state == NEURON_REPAIR_NONE;
}

static void put_title(struct page *page, const struct top *top, int width)
{
	char clock[16] = "", left[96], right[96];
	time_t now = time(NULL);
	struct tm tm;
	int gap;

	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	snprintf(left, sizeof(left), "neuron-top %s  %s", clock, views[top->view]);
	if (top->view == VIEW_DEVICE || top->view == VIEW_LINKS)
		snprintf(left + strlen(left), sizeof(left) - strlen(left), " %u",
			 top->sample->devices[top->device].entry.index);
	snprintf(right, sizeof(right), "%s%u device%s  every %u.%u s",
		 top->paused ? "PAUSED  " : "", top->sample->num_devices,
		 top->sample->num_devices == 1 ? "" : "s", top->delay_ms / 1000,
		 top->delay_ms % 1000 / 100);
	gap = width - (int)strlen(left) - (int)strlen(right);
	put(page, MARK_BOLD "%s%*s%s" MARK_END, left, gap > 2 ? gap : 2, "", right);
}

static void put_overview_row(struct page *page, const struct sample_device *device, int room)
{
	uint64_t used = sample_used(device), total = device->memory.total;
	char dma[TEXT], hbm[TEXT], memory[24];

	if (device->error[0]) {
		put(page, "%3u " MARK_RED "%s" MARK_END, device->entry.index, device->error);
		return;
	}
	snprintf(memory, sizeof(memory), "%s/%s", size_text(used).text, size_text(total).text);
	put(page, "%3u %5.1f %5.1f %s %10s %s %11s %5s %4s %5s %s", device->entry.index,
	    device->tensor, device->dma.percent, bar(dma, sizeof(dma), device->dma.percent, room),
	    rate(device->dma.rate).text,
	    bar(hbm, sizeof(hbm), total ? 100.0 * (double)used / (double)total : 0, room), memory,
	    power_text(device).text, temperature_text(device).text, links_text(device).text,
	    is_healthy(device) ? MARK_GREEN "ok" MARK_END : MARK_RED "BAD" MARK_END);
}

static int compare_holders(const void *a, const void *b, void *order)
{
	const struct neuron_holder *x = *(const struct neuron_holder *const *)a;
	const struct neuron_holder *y = *(const struct neuron_holder *const *)b;

	switch (*(const enum order *)order) {
	case ORDER_PID:
		return (x->pid > y->pid) - (x->pid < y->pid);
	case ORDER_TIME:
		return (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
	default:
		return (x->hbm_bytes < y->hbm_bytes) - (x->hbm_bytes > y->hbm_bytes);
	}
}

/* Which device a holder belongs to. */
static unsigned int device_of(const struct sample *sample, const struct neuron_holder *holder)
{
	unsigned int i;

	for (i = 0; i + 1 < sample->num_devices; i++)
		if (holder >= sample->devices[i].holders &&
		    holder < sample->devices[i].holders + sample->devices[i].num_holders)
			break;
	return sample->devices[i].entry.index;
}

static struct tool_text elapsed(int64_t since)
{
	int64_t s = (tool_now() - since) / 1000000000;
	struct tool_text text;

	if (s < 0)
		s = 0;
	if (s >= 86400)
		snprintf(text.text, sizeof(text.text), "%" PRId64 "d%02" PRId64 "h", s / 86400,
			 s / 3600 % 24);
	else
		snprintf(text.text, sizeof(text.text), "%" PRId64 ":%02" PRId64 ":%02" PRId64,
			 s / 3600, s / 60 % 60, s % 60);
	return text;
}

static void put_processes(struct page *page, const struct top *top, int width)
{
	const struct sample *sample = top->sample;
	const struct neuron_holder **all, *holder;
	unsigned int i, j, count = 0, hidden = 0;
	enum order order = top->order;
	const struct passwd *user;
	char name[16];

	for (i = 0; i < sample->num_devices; i++)
		count += sample->devices[i].num_holders;
	all = calloc(count + 1, sizeof(const struct neuron_holder *));
	if (!all)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0, count = 0; i < sample->num_devices; i++)
		for (j = 0; j < sample->devices[i].num_holders; j++)
			all[count++] = &sample->devices[i].holders[j];
	qsort_r(all, count, sizeof(const struct neuron_holder *), compare_holders, &order);
	put(page, MARK_HEAD "%7s %-8s %3s %7s %7s %6s %5s %9s %-*s" MARK_END, "PID", "USER", "DEV",
	    "HBM", "HOST", "QUEUES", "RINGS", "TIME", width - 60, "COMMAND");
	for (i = 0; i < count; i++) {
		holder = all[i];
		user = getpwuid(holder->uid);
		if (user)
			snprintf(name, sizeof(name), "%.8s", user->pw_name);
		else
			snprintf(name, sizeof(name), "%u", holder->uid);
		put(page, "%7d %-8s %3u %7s %7s %6u %5u %9s %s", holder->pid, name,
		    device_of(sample, holder), size_text(holder->hbm_bytes).text,
		    size_text(holder->host_bytes).text, holder->queues, holder->rings,
		    elapsed(holder->since_ns).text,
		    holder->pid ? holder->command : "(not seen from here)");
		if (holder->others > hidden)
			hidden = holder->others;
	}
	free(all);
	if (!count)
		put(page, "No process holds a device.");
	if (hidden)
		put(page, "There are others that only root may see.");
}

static void put_overview(struct page *page, const struct top *top, int width)
{
	int room = (width - 60) / 2;
	unsigned int i;

	if (room > 40)
		room = 40;
	if (room < 3)
		room = 3;
	put(page, MARK_HEAD "%3s %5s %5s %-*s %10s %-*s %11s %5s %4s %5s %-*s" MARK_END, "DEV",
	    "PE%", "DMA%", room, "", "MOVED", room, "HBM", "USED", "POWER", "TEMP", "LINKS",
	    width - 58 - 2 * room, "");
	for (i = 0; i < top->sample->num_devices; i++)
		put_overview_row(page, &top->sample->devices[i], room);
	put(page, "%s", "");
	put_processes(page, top, width);
}

static void put_telemetry(struct page *page, const struct sample_device *device)
{
	static const char *const repair[] = { "none", "pending", "failed" };
	const struct neuron_telemetry *t = &device->telemetry;
	uint64_t corrected = 0, uncorrected = 0;
	unsigned int i;

	for (i = 0; i < NEURON_MAX_STACKS; i++) {
		corrected += t->hbm_ecc_corrected[i];
		uncorrected += t->hbm_ecc_uncorrected[i];
	}
	put(page, "%s %s  serial %016" PRIx64 "  firmware %u  driver %u.%u.%u", device->info.name,
	    device->info.pci_address, device->info.serial, device->info.firmware_api,
	    device->info.driver_version[0], device->info.driver_version[1],
	    device->info.driver_version[2]);
	put(page, "HBM %s of %s used in %u buffers  rings %u of %u free  resets %" PRIu64,
	    size_text(sample_used(device)).text, size_text(device->memory.total).text,
	    device->memory.buffers, device->free_rings, device->rings, device->info.reset_count);
	if (t->sensors)
		put(page, "power %.0f of %.0f W  hottest %s, throttles at %dC  throttled %u.%02u%%",
		    (double)t->power_uw / 1e6, (double)t->power_max_uw / 1e6,
		    temperature_text(device).text, t->temperature_max / 1000, t->throttle / 100,
		    t->throttle % 100);
	put(page, "ECC corrected/uncorrected: HBM %" PRIu64 "/%" PRIu64 "  SRAM %u/%u  repair %s  %s",
	    corrected, uncorrected, t->sram_ecc_corrected, t->sram_ecc_uncorrected,
	    t->hbm_repair_state < 3 ? repair[t->hbm_repair_state] : "unknown",
	    t->health ? MARK_RED "UNHEALTHY" MARK_END : MARK_GREEN "healthy" MARK_END);
}

static int compare_engines(const void *a, const void *b)
{
	const struct sample_engine *x = *(const struct sample_engine *const *)a;
	const struct sample_engine *y = *(const struct sample_engine *const *)b;

	if (x->load.percent != y->load.percent)
		return x->load.percent < y->load.percent ? 1 : -1;
	return (x > y) - (x < y);
}

static void put_engines(struct page *page, const struct sample_device *device, int room, int width)
{
	const struct sample_engine **all, *engine;
	unsigned int i, busy = 0, count = device->info.num_engines;
	char text[TEXT], core[8];

	all = calloc(count + 1, sizeof(const struct sample_engine *));
	if (!all)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0; i < count; i++)
		all[i] = &device->engines[i];
	qsort(all, count, sizeof(const struct sample_engine *), compare_engines);
	put(page, MARK_HEAD "%6s %4s %5s %5s %-*s %10s %6s %-*s" MARK_END, "ENGINE", "CORE",
	    "STACK", "DMA%", room, "", "MOVED", "RINGS", width - 43 - room, "");
	for (i = 0; i < count; i++) {
		engine = all[i];
		if (engine->load.percent <= 0 && engine->load.rate <= 0 && !engine->info.aborted &&
		    !engine->info.out_of_service)
			continue;
		busy++;
		snprintf(core, sizeof(core), "%d", engine->info.core);
		put(page, "%6u %4s %5u %5.1f %s %10s %6u %s",
		    (unsigned int)(engine - device->engines),
		    engine->info.core < 0 ? "host" : core, engine->info.stack,
		    engine->load.percent, bar(text, sizeof(text), engine->load.percent, room),
		    rate(engine->load.rate).text,
		    device->info.queues_per_engine - engine->info.rings_free,
		    engine->info.out_of_service ? MARK_RED "OUT" MARK_END :
		    engine->info.aborted ? MARK_RED "ABORTED" MARK_END : "");
	}
	put(page, "%u of %u engines are idle.", count - busy, count);
	free(all);
}

static void put_device(struct page *page, const struct top *top, int width)
{
	const struct sample_device *device = &top->sample->devices[top->device];
	const struct sample_core *core;
	char tensor[TEXT], dma[TEXT];
	unsigned int i;
	int room;

	put_telemetry(page, device);
	room = (width - 34) / 2 < 40 ? (width - 34) / 2 : 40;
	put(page, MARK_HEAD "%4s %5s %-*s %5s %-*s %10s %-*s" MARK_END, "CORE", "PE%", room, "",
	    "DMA%", room, "", "MOVED", width - 28 - 2 * room, "");
	for (i = 0; i < device->info.num_cores && i < SAMPLE_MAX_CORES; i++) {
		core = &device->cores[i];
		put(page, "%4u %5.1f %s %5.1f %s %10s", i, core->tensor,
		    bar(tensor, sizeof(tensor), core->tensor, room), core->dma.percent,
		    bar(dma, sizeof(dma), core->dma.percent, room), rate(core->dma.rate).text);
	}
	put(page, "%s", "");
	put_engines(page, device, width - 46 < 40 ? width - 46 : 40, width);
}

static const char *state_mark(uint32_t state)
{
	if (state == NEURON_PORT_UP)
		return MARK_GREEN;
	return state == NEURON_PORT_DEGRADED || state == NEURON_PORT_TRAINING ? MARK_YELLOW :
										 MARK_RED;
}

static void put_links(struct page *page, const struct top *top, int width)
{
	const struct sample_device *device = &top->sample->devices[top->device];
	double tx = 0, rx = 0, most;
	const struct sample_port *port;
	const uint64_t *c;
	char text[TEXT], peer[32];
	unsigned int p;
	int room = width - 66;

	if (room > 30)
		room = 30;
	if (!device->fabric.num_ports) {
		put(page, "The device has no fabric: nothing joins it to other chips.");
		return;
	}
	for (p = 0; p < device->fabric.num_ports; p++) {
		tx += device->ports[p].tx_rate;
		rx += device->ports[p].rx_rate;
	}
	put(page, "%s chip %u of %u  %s ports up  sent %s  received %s",
	    neuron_fabric_kind_string(device->fabric.kind), device->fabric.chip,
	    device->fabric.num_chips, links_text(device).text, rate(tx).text, rate(rx).text);
	put(page, MARK_HEAD "%4s %-9s %5s %-13s %-*s %10s %10s %-*s" MARK_END, "PORT", "STATE",
	    "LANES", "PEER", room, "LOAD", "SENT", "RECEIVED", width - 58 - room, "ERRORS");
	for (p = 0; p < device->fabric.num_ports; p++) {
		port = &device->ports[p];
		c = port->info.counters;
		snprintf(peer, sizeof(peer), "-");
		if (port->info.flags & NEURON_PORT_PEER)
			snprintf(peer, sizeof(peer), "%s %u.%u",
				 port->info.flags & NEURON_PORT_PEER_SWITCH ? "switch" : "chip",
				 port->info.peer, port->info.peer_port);
		most = (double)port->info.lanes * port->info.rate * 1e6;
		tx = port->tx_rate > port->rx_rate ? port->tx_rate : port->rx_rate;
		put(page, "%4u %s%-9s" MARK_END " %2u/%-2u %-13s %s %10s %10s %" PRIu64, p,
		    state_mark(port->info.state), neuron_port_state_string(port->info.state),
		    port->info.lanes, port->info.max_lanes, peer,
		    bar(text, sizeof(text), most > 0 ? 100 * tx / most : 0, room),
		    rate(port->tx_rate).text, rate(port->rx_rate).text,
		    c[NEURON_PORT_CRC_ERRORS] + c[NEURON_PORT_LINK_DOWNS] +
		    c[NEURON_PORT_DISCARDS] + c[NEURON_PORT_BLOCKED]);
	}
}

void page_render(struct page *page, const struct top *top, int width)
{
	if (width < 72)
		width = 72;
	page_clear(page);
	put_title(page, top, width);
	page->head = 1;
	switch (top->view) {
	case VIEW_DEVICE:
		put_device(page, top, width);
		break;
	case VIEW_LINKS:
		put_links(page, top, width);
		if (page->count > 3)
			page->head = 3;
		break;
	case VIEW_PROCESSES:
		put_processes(page, top, width);
		page->head = 2;
		break;
	default:
		put_overview(page, top, width);
		page->head = 2;
	}
}
