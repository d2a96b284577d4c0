// SPDX-License-Identifier: MIT
/*
 * neuron-monitor: what the devices do, as a stream of JSON or for Prometheus.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "monitor.h"

/**
 * struct config - what is asked for
 */
struct config {
	double period;
	unsigned int groups;
	uint64_t count;
	const char *address;
};

static void print_usage(void)
{
	printf("usage: neuron-monitor [OPTION]\n"
	       "\n"
	       "Prints a JSON object a line about the Trainium devices, again and again, or\n"
	       "serves the same to Prometheus.\n"
	       "\n"
	       "  -p, --period S             seconds from report to report, 0.1 to 3600 (5)\n"
	       "  -n, --count N              end after N reports\n"
	       "  -c, --config-file FILE     JSON with period and groups\n"
	       "  -j, --json                 JSON, which is what it prints anyway\n"
	       "  -P, --prometheus [ADDRESS]:PORT\n"
	       "                             serve /metrics there instead of printing\n"
	       "  -h, --help                 this text\n"
	       "  -V, --version              version\n"
	       "\n"
	       "Exit status: 0; 1 no device, or a failure; 2 wrong usage.\n");
}

static double parse_period(const char *text, const char *where)
{
	char *end;
	double value = strtod(text, &end);

	/* The vendor's files say "5s". */
	if (*end == 's')
		end++;
	if (end == text || *end || !(value >= 0.1 && value <= 3600)) {
		tool_warn("%s: period '%s' is not from 0.1 to 3600 s", where, text);
		tool_usage_error();
	}
	return value;
}

/* Groups of a "metrics" or "system_metrics" array. */
static unsigned int parse_metrics(struct json_object *list, const char *where)
{
	struct json_object *type;
	unsigned int groups = 0, group;
	size_t i;

	if (!json_object_is_type(list, json_type_array))
		tool_die(TOOL_FAILED, "%s: metrics are no array", where);
	for (i = 0; i < json_object_array_length(list); i++) {
		if (!json_object_object_get_ex(json_object_array_get_idx(list, i), "type", &type))
			tool_die(TOOL_FAILED, "%s: metric %zu has no type", where, i);
		group = group_by_name(json_object_get_string(type));
		if (!group)
			tool_warn("%s: there is no group '%s' here", where,
				  json_object_get_string(type));
		groups |= group;
	}
	return groups;
}

static void read_config(struct config *config, const char *path)
{
	struct json_object *root = json_object_from_file(path), *value, *metrics;
	size_t i;

	if (!root)
		tool_die(TOOL_FAILED, "%s: %s", path, json_util_get_last_err());
	if (!json_object_is_type(root, json_type_object))
		tool_die(TOOL_FAILED, "%s: is no JSON object", path);
	config->groups = 0;
	if (json_object_object_get_ex(root, "period", &value))
		config->period = parse_period(json_object_get_string(value), path);
	if (json_object_object_get_ex(root, "system_metrics", &value))
		config->groups |= parse_metrics(value, path);
	if (json_object_object_get_ex(root, "neuron_runtimes", &value)) {
		if (!json_object_is_type(value, json_type_array))
			tool_die(TOOL_FAILED, "%s: neuron_runtimes is no array", path);
		for (i = 0; i < json_object_array_length(value); i++)
			if (json_object_object_get_ex(json_object_array_get_idx(value, i),
						      "metrics", &metrics))
				config->groups |= parse_metrics(metrics, path);
	}
	json_object_put(root);
}

/* The signals that end it are blocked, and waited for here. False if one came. */
static bool wait_until(const sigset_t *signals, int64_t when)
{
	int64_t left = when - tool_now();
	struct timespec ts = { 0 };
	int ret;

	do {
		if (left > 0) {
			ts.tv_sec = left / 1000000000;
			ts.tv_nsec = left % 1000000000;
		}
		ret = sigtimedwait(signals, NULL, &ts);
		left = when - tool_now();
	} while (ret < 0 && errno == EINTR);
	return ret < 0;
}

/* Devices may come and go; what is read must be what is there. */
static struct sample *follow(struct sample *sample)
{
	int count = neuron_enumerate(NULL, sizeof(struct neuron_device_entry), 0);

	if (count <= 0 || (unsigned int)count == sample->num_devices)
		return sample;
	sample_close(sample);
	sample = sample_open();
	sample_take(sample);
	return sample;
}

static void run(const struct config *config, const sigset_t *signals)
{
	struct exporter *exporter = NULL;
	struct sample *sample = sample_open();
	struct host host = { 0 };
	int64_t next = tool_now();
	uint64_t done = 0;
	size_t size = 0;
	char *text;

	/* Rates need two looks. */
	sample_take(sample);
	host_take(&host);
	if (config->address) {
		text = metrics_text(sample, &size);
		exporter = exporter_start(config->address, text, size);
	}
	do {
		next += (int64_t)(config->period * 1e9);
		if (!wait_until(signals, next))
			break;
		sample = follow(sample);
		sample_take(sample);
		host_take(&host);
		if (exporter) {
			text = metrics_text(sample, &size);
			exporter_publish(exporter, text, size);
		} else {
			json_print_line(report_json(sample, &host, config->groups,
						    config->period));
		}
	} while (!ferror(stdout) && ++done != config->count);
	exporter_stop(exporter);
	sample_close(sample);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "period", required_argument, NULL, 'p' },
		{ "count", required_argument, NULL, 'n' },
		{ "config-file", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "prometheus", required_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct config config = { .period = 5, .groups = GROUP_ALL };
	sigset_t signals;
	int c;

	tool_name = "neuron-monitor";
	while ((c = getopt_long(argc, argv, "p:n:c:jP:hV", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			config.period = parse_period(optarg, "--period");
			break;
		case 'n':
			if (!tool_parse_size(optarg, &config.count) || !config.count) {
				tool_warn("count '%s' is no number from 1", optarg);
				tool_usage_error();
			}
			break;
		case 'c':
			read_config(&config, optarg);
			break;
		case 'j':
			break;
		case 'P':
			exporter_check(optarg);
			config.address = optarg;
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
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	run(&config, &signals);
	return tool_finish(TOOL_OK);
}
