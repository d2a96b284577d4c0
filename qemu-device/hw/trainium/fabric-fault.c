/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of the fabric, on demand: the property "faults" of the object is a
 * list of all there are, joined by semicolons. Documentation/model/fabric.rst
 * has the table. Setting it again takes away what is not in it any more.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "fabric.h"

/* [s]NODE, at the end of the text or before what else there is */
static TrnFabNode *parse_node(TrnFabric *f, const char **text)
{
    bool is_switch = **text == 's';
    unsigned n;

    if (qemu_strtoui(*text + is_switch, text, 10, &n)) {
        return NULL;
    }
    return is_switch ? trn_fab_switch(f, n) : trn_fab_chip(f, n);
}

/* NODE.PORT, of a port that is wired; NODE.*: the first one, @all is set */
static TrnFabPort *parse_port(TrnFabric *f, const char **text, bool *all)
{
    TrnFabNode *node = parse_node(f, text);
    unsigned n = 0;

    if (!node || *(*text)++ != '.') {
        return NULL;
    }
    *all = **text == '*';
    if (*all) {
        ++*text;
        while (n < node->num_ports && !node->port[n].expect) {
            n++;
        }
    } else if (qemu_strtoui(*text, text, 10, &n)) {
        return NULL;
    }
    return n < node->num_ports && node->port[n].expect ? &node->port[n] : NULL;
}

/* What two ports lead to is exchanged. */
static bool fault_swap(TrnFabPort *a, TrnFabPort *b, bool apply)
{
    TrnFabPort *pa = a->wire, *pb = b->wire;

    if (a == b || a->expect == b) {
        return false;
    }
    if (apply && pa != b) {
        a->wire = pb;
        pb->wire = a;
        b->wire = pa;
        pa->wire = b;
    }
    return true;
}

static void fault_add(TrnFabPortFault *f, const TrnFabPortFault *more)
{
    f->pulled |= more->pulled;
    f->silent |= more->silent;
    f->lanes_lost = more->lanes_lost ?: f->lanes_lost;
    f->error_every = more->error_every ?: f->error_every;
    f->flap_ms = more->flap_ms ?: f->flap_ms;
}

/* One of them; checked only unless @apply */
static bool fault_parse(TrnFabric *f, const char *text, bool apply)
{
    g_autofree char *name = NULL;
    const char *p = strchr(text, '=');
    TrnFabPortFault fault = {};
    TrnFabPort *port, *other;
    bool all, other_all;
    TrnFabNode *node;
    unsigned n = 0;

    if (!p) {
        return false;
    }
    name = g_strndup(text, p - text);
    p++;
    if (!strcmp(name, "off")) {
        node = parse_node(f, &p);
        if (!node || !node->is_switch || *p) {
            return false;
        }
        node->off |= apply;
        return true;
    }
    port = parse_port(f, &p, &all);
    if (!port) {
        return false;
    }
    if (!strcmp(name, "swap")) {
        if (*p++ != '/') {
            return false;
        }
        other = parse_port(f, &p, &other_all);
        return other && !*p && !all && !other_all &&
               fault_swap(port, other, apply);
    }
    if (*p && (*p != ':' || qemu_strtoui(p + 1, &p, 10, &n) || *p || !n)) {
        return false;
    }
    if (!strcmp(name, "pull") && !n) {
        fault.pulled = true;
    } else if (!strcmp(name, "silent") && !n) {
        fault.silent = true;
    } else if (!strcmp(name, "lanes") && n && n <= port->lanes) {
        fault.lanes_lost = n;
    } else if (!strcmp(name, "errors") && n) {
        fault.error_every = n;
    } else if (!strcmp(name, "flap") && n) {
        fault.flap_ms = n;
    } else {
        return false;
    }
    node = port->node;
    do {
        if (apply && port->expect) {
            fault_add(&port->fault, &fault);
        }
    } while (all && ++port < &node->port[node->num_ports]);
    return true;
}

/* What a port was before, to see whether anything changed */
typedef struct Before {
    TrnFabPortFault fault;
    TrnFabPort *wire;
} Before;

static void port_changed(TrnFabPort *p, const Before *b)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    bool flap = p->fault.flap_ms != b->fault.flap_ms;

    if (p->wire == b->wire && !memcmp(&p->fault, &b->fault,
                                      sizeof(p->fault))) {
        return;
    }
    p->gave_up = 0;
    if (p->wire) {
        p->wire->gave_up = 0;
    }
    p->node->fabric->routes_changed = true;
    if (flap) {
        p->flap_out = false;
        p->flap_at = now + p->fault.flap_ms * (int64_t)SCALE_MS;
        trn_fab_timer_want(p->node->fabric, p->flap_at);
    }
}

bool trn_fab_faults_set(TrnFabric *f, const char *text, Error **errp)
{
    g_auto(GStrv) list = g_strsplit(text, ";", -1);
    g_autofree Before *before = NULL;
    unsigned i, k, n = 0;
    char **one;

    for (one = list; *one; one++) {
        if (!fault_parse(f, *one, false)) {
            error_setg(errp, "'%s' is not a fault of this fabric", *one);
            return false;
        }
    }
    for (i = 0; i < f->num_nodes; i++) {
        n += f->node[i].num_ports;
    }
    before = g_new0(Before, n);
    for (i = 0, n = 0; i < f->num_nodes; i++) {
        for (k = 0; k < f->node[i].num_ports; k++) {
            TrnFabPort *p = &f->node[i].port[k];

            before[n++] = (Before) { p->fault, p->wire };
            memset(&p->fault, 0, sizeof(p->fault));
            p->wire = p->expect;
        }
        f->node[i].off = false;
    }
    for (one = list; *one; one++) {
        fault_parse(f, *one, true);
    }
    for (i = 0, n = 0; i < f->num_nodes; i++) {
        for (k = 0; k < f->node[i].num_ports; k++) {
            port_changed(&f->node[i].port[k], &before[n++]);
        }
    }
    for (i = 0; i < f->num_nodes; i++) {
        trn_fab_node_update(&f->node[i]);
    }
    trn_fab_settle(f);
    return true;
}
