// SPDX-License-Identifier: MIT
/*
 * neuron-monitor: the HTTP end of Prometheus. The thread of libmicrohttpd hands
 * out the newest text; it never touches a device.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "monitor.h"

#define CONNECTIONS 64
#define TIMEOUT_S 10

struct exporter {
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	/** @text: protected by @lock */
	char *text;
	size_t size;
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *type, const char *text, size_t size)
{
	struct MHD_Response *response;
	enum MHD_Result ret = MHD_NO;

	response = MHD_create_response_from_buffer(size, (void *)text, MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES)
		ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned int status,
			   const char *text)
{
	return answer(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *data_size, void **state)
{
	struct exporter *exporter = arg;
	enum MHD_Result ret;

	(void)version;
	(void)data;
	(void)state;
	if (*data_size)
		return MHD_NO;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is known here.\n");
	if (strcmp(url, "/metrics"))
		return say(connection, strcmp(url, "/") ? MHD_HTTP_NOT_FOUND : MHD_HTTP_OK,
			   "neuron-monitor: the metrics are at /metrics\n");
	pthread_mutex_lock(&exporter->lock);
	ret = answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
		     exporter->text, exporter->size);
	pthread_mutex_unlock(&exporter->lock);
	return ret;
}

/* Parts "[HOST][:]PORT"; an IPv6 address has brackets. */
static struct addrinfo *resolve(const char *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *list;
	char host[128];
	const char *port = strrchr(address, ':');
	size_t length = port ? (size_t)(port - address) : 0;
	uint64_t number;
	int ret;

	port = port ? port + 1 : address;
	if (!tool_parse_size(port, &number) || number > 65535 || length >= sizeof(host)) {
		tool_warn("'%s' is not ADDRESS:PORT or :PORT", address);
		tool_usage_error();
	}
	memcpy(host, address, length);
	host[length] = '\0';
	if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		memmove(host, host + 1, length - 1);
	}
	if (!length)
		hints.ai_family = AF_INET;
	ret = getaddrinfo(length ? host : NULL, port, &hints, &list);
	if (ret)
		tool_die(TOOL_FAILED, "%s: %s", address, gai_strerror(ret));
	return list;
}

void exporter_check(const char *address)
{
	freeaddrinfo(resolve(address));
}

struct exporter *exporter_start(const char *address, char *text, size_t size)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));
	struct addrinfo *list = resolve(address);
	const union MHD_DaemonInfo *info;
	unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD;

	if (!exporter)
		tool_die(TOOL_FAILED, "out of memory");
	pthread_mutex_init(&exporter->lock, NULL);
	exporter->text = text;
	exporter->size = size;
	if (list->ai_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	exporter->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, exporter,
					    MHD_OPTION_SOCK_ADDR, list->ai_addr,
					    MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
					    MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
					    MHD_OPTION_END);
	freeaddrinfo(list);
	if (!exporter->daemon)
		tool_die(TOOL_FAILED, "%s: cannot listen there: %s", address,
			 errno ? strerror(errno) : "unknown reason");
	info = MHD_get_daemon_info(exporter->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (info)
		fprintf(stderr, "%s: metrics at port %u\n", tool_name, info->port);
	return exporter;
}

void exporter_publish(struct exporter *exporter, char *text, size_t size)
{
	char *old;

	pthread_mutex_lock(&exporter->lock);
	old = exporter->text;
	exporter->text = text;
	exporter->size = size;
	pthread_mutex_unlock(&exporter->lock);
	free(old);
}

void exporter_stop(struct exporter *exporter)
{
	if (!exporter)
		return;
	MHD_stop_daemon(exporter->daemon);
	pthread_mutex_destroy(&exporter->lock);
	free(exporter->text);
	free(exporter);
}
