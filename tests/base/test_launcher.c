/* Which environments and command lines announce several processes, and the address at which they meet. */
#include "base/launcher.h"
#include "tests/unit.h"

static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",     "MV2_COMM_WORLD_SIZE",
                                    "WORLD_SIZE",           "SLURM_NTASKS", "SLURM_STEP_ID"};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
    return 0;
}

TEST(one_process_is_welcome)
{
    struct error err = {0};
    assert_int_equal(launcher_refuse("prog", &err), 0);
    for (size_t i = 0; i < 5; i++)
        setenv(names[i], "1", 1);
    assert_int_equal(launcher_refuse("prog", &err), 0);
    clear(state);
}

TEST(several_are_refused)
{
    for (size_t i = 0; i < 4; i++) {
        struct error err = {0};
        const char *variable;
        setenv(names[i], "2", 1);
        assert_int_equal(launcher_processes(&variable), 2);
        assert_string_equal(variable, names[i]);
        assert_int_equal(launcher_refuse("prog", &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        clear(state);
    }
}

TEST(rank_0_speaks_for_all)
{
    assert_false(launcher_follows());
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_false(launcher_follows());
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    assert_true(launcher_follows());
    setenv(LAUNCH_CHILD_VARIABLE, "1", 1); /* its parent prints its errors */
    assert_false(launcher_follows());
    unsetenv(LAUNCH_CHILD_VARIABLE);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    assert_false(launcher_follows());
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
    setenv("WORLD_SIZE", "4", 1);
    setenv("RANK", "2", 1);
    setenv("LOCAL_RANK", "0", 1); /* of the second machine, with a command of its own */
    assert_false(launcher_follows());
    setenv("LOCAL_RANK", "1", 1);
    assert_true(launcher_follows());
    unsetenv("WORLD_SIZE");
    unsetenv("RANK");
    unsetenv("LOCAL_RANK");
}

TEST(slurm_counts_inside_a_step_only)
{
    struct error err = {0};
    setenv("SLURM_NTASKS", "4", 1);
    assert_int_equal(launcher_refuse("prog", &err), 0);
    setenv("SLURM_STEP_ID", "extern", 1);
    assert_int_equal(launcher_refuse("prog", &err), 0);
    setenv("SLURM_STEP_ID", "4294967290", 1); /* an interactive shell */
    assert_int_equal(launcher_refuse("prog", &err), 0);
    setenv("SLURM_STEP_ID", "0", 1);
    assert_int_equal(launcher_refuse("prog", &err), -1);
    clear(state);
}

/* --------------------------------------------------------------------------------------------- tables of cases */

/* `context` is a string of "NAME=VALUE" words. */
static const char *from_words(void *context, const char *name)
{
    static char values[8][128]; /* results of the last eight calls */
    static unsigned turn;
    const size_t size = strlen(name);
    for (const char *word = context; *word; word += strcspn(word, " "), word += *word == ' ') {
        if (strncmp(word, name, size) != 0 || word[size] != '=')
            continue;
        char *value = values[turn++ % 8];
        const size_t length = strcspn(word + size + 1, " ");
        memcpy(value, word + size + 1, length);
        value[length] = '\0';
        return value;
    }
    return NULL;
}

static int find(struct launch *launch, const char *words, struct launch_flags flags, struct error *err)
{
    return launch_find(launch, &flags, (struct environment){from_words, (void *)words}, err);
}

#define STEP "SLURM_STEP_ID=3 SLURM_JOB_ID=71 SLURM_STEP_NUM_TASKS=6 SLURM_PROCID=4 SLURM_LOCALID=1 SLURM_NTASKS=8 "
#define OMPI "OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_LOCAL_RANK=1 "

TEST(every_launcher_is_known)
{
    static const struct {
        const char *words;
        enum launch_kind kind;
        uint32_t rank, size, local_rank;
        const char *rendezvous;
    } cases[] = {
        {"", LAUNCH_ALONE, 0, 1, 0, ""},
        {OMPI, LAUNCH_OPEN_MPI, 2, 3, 1, ""},
        {"PMI_SIZE=2 PMI_RANK=1 MPI_LOCALRANKID=0", LAUNCH_PMI, 1, 2, 0, ""},
        {"PMI_SIZE=6 PMI_RANK=4 " STEP "SLURM_STEP_NODELIST=a[1-2]", LAUNCH_PMI, 4, 6, 0, "a1:26642"},
        {"PMI_SIZE=2 PMI_RANK=1 " STEP "SLURM_STEP_NODELIST=a[1-2]", LAUNCH_PMI, 1, 2, 0, ""},
        {"MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=0 MV2_COMM_WORLD_LOCAL_RANK=0", LAUNCH_MVAPICH, 0, 2, 0, ""},
        {"RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 MASTER_ADDR=host MASTER_PORT=29500", LAUNCH_TORCHRUN, 5, 8, 1, "host:29500"},
        {"RANK=5 WORLD_SIZE=8 MASTER_ADDR=::1 MASTER_PORT=29500", LAUNCH_TORCHRUN, 5, 8, 0, "[::1]:29500"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=True", LAUNCH_TORCHRUN, 0, 2,
         0, "h:29501"},
        {"RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=h MASTER_PORT=7", LAUNCH_TORCHRUN, 1, 2, 1,
         "127.0.0.1:7"}, /* all on one machine */
        {"RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=h MASTER_PORT=7", LAUNCH_TORCHRUN, 1, 4, 1,
         "h:7"},
        {STEP "SLURM_STEP_NODELIST=one SLURM_STEP_NUM_NODES=1", LAUNCH_SLURM, 4, 6, 1, "127.0.0.1:26642"},
        {STEP "SLURM_STEP_NODELIST=one,two SLURM_STEP_NUM_NODES=2", LAUNCH_SLURM, 4, 6, 1, "one:26642"},
        {STEP "SLURM_STEP_NODELIST=n[03-05,9],x", LAUNCH_SLURM, 4, 6, 1, "n03:26642"},
        {STEP "SLURM_STEP_NODELIST=rack[1-2]node[01,04]-ib", LAUNCH_SLURM, 4, 6, 1, "rack1node01-ib:26642"},
        {STEP "SLURM_STEP_NODELIST=one,two", LAUNCH_SLURM, 4, 6, 1, "one:26642"},
        {"SLURM_JOB_ID=71 SLURM_NTASKS=8 SLURM_PROCID=0", LAUNCH_ALONE, 0, 1, 0, ""}, /* in a batch script */
        /* mpirun inside sbatch; a leftover variable that says one node */
        {STEP "SLURM_STEP_NODELIST=one " OMPI, LAUNCH_OPEN_MPI, 2, 3, 1, ""},
        {"WORLD_SIZE=1 RANK=0 " OMPI, LAUNCH_OPEN_MPI, 2, 3, 1, ""},
        {"OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0", LAUNCH_ALONE, 0, 1, 0, ""},
        {"RANK=0", LAUNCH_ALONE, 0, 1, 0, ""},
        {"RANK=captain", LAUNCH_ALONE, 0, 1, 0, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct launch launch;
        struct error err = {0};
        assert_int_equal(find(&launch, cases[i].words, (struct launch_flags){0}, &err), 0);
        assert_int_equal(launch.kind, cases[i].kind);
        assert_int_equal(launch.rank, cases[i].rank);
        assert_int_equal(launch.size, cases[i].size);
        assert_int_equal(launch.local_rank, cases[i].local_rank);
        assert_string_equal(launch.rendezvous, cases[i].rendezvous);
        assert_int_equal(launch.children, 0);
        assert_int_equal(launch.listener, -1);
    }
}

/* For processes of another run that come to a meeting by accident. */
TEST(launchers_name_what_they_started)
{
    static const struct {
        const char *words, *job;
    } cases[] = {
        {STEP "SLURM_STEP_NODELIST=n1", "Slurm step 71.3"},
        {STEP "SLURM_STEP_NODELIST=n1 SLURM_HET_JOB_ID=70", "Slurm step 70.3"},
        {"WORLD_SIZE=2 RANK=1 MASTER_ADDR=a MASTER_PORT=1 TORCHELASTIC_RUN_ID=my", "torchrun my"},
        {"WORLD_SIZE=2 RANK=1 MASTER_ADDR=a MASTER_PORT=1", ""},
        {OMPI, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct launch launch;
        struct error err;
        assert_int_equal(find(&launch, cases[i].words, (struct launch_flags){0}, &err), 0);
        assert_string_equal(launch.job, cases[i].job);
    }
}

TEST(contradictions_are_refused)
{
    static const struct {
        const char *words;
        const char *says;
    } cases[] = {
        {"WORLD_SIZE=2", "RANK"},
        {"WORLD_SIZE=2 RANK=2", "count from 0"},
        {"WORLD_SIZE=2 RANK=-1", "RANK is -1"},
        {"WORLD_SIZE=2 RANK=1", "MASTER_ADDR"},
        {"WORLD_SIZE=2 RANK=1 MASTER_ADDR=a", "MASTER_PORT"},
        {"WORLD_SIZE=2 RANK=1 MASTER_ADDR=a MASTER_PORT=0", "not a port"},
        {"WORLD_SIZE=2 RANK=1 MASTER_ADDR=a MASTER_PORT=65536", "not a port"},
        {"WORLD_SIZE=2x RANK=1", "WORLD_SIZE is 2x"},
        {"WORLD_SIZE=99999999999999999999 RANK=1", "at most"},
        {"RANK=1", "WORLD_SIZE is not set"},
        {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE is not set"},
        {"SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_PROCID=1", "SLURM_STEP_NODELIST"},
        {"DS_CHILD=1", "DS_CHILD"},
        {"DS_CHILD=2", "DS_CHILD"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct launch launch;
        struct error err = {0};
        assert_int_equal(find(&launch, cases[i].words, (struct launch_flags){0}, &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        if (!strstr(err.text, cases[i].says))
            fail_msg("\"%s\" does not hold \"%s\"", err.text, cases[i].says);
    }
}

TEST(the_command_line_comes_first)
{
    struct launch launch;
    struct error err = {0};
    assert_int_equal(find(&launch, OMPI,
                          (struct launch_flags){.rank_given = true, .rank = 1, .world_size = 2, .rendezvous = "f"},
                          &err),
                     0);
    assert_int_equal(launch.kind, LAUNCH_COMMAND);
    assert_int_equal(launch.rank, 1);
    assert_int_equal(launch.size, 2);
    assert_int_equal(launch.children, 0);
    assert_string_equal(launch.rendezvous, "f");

    assert_int_equal(find(&launch, "", (struct launch_flags){.processes = 4}, &err), 0);
    assert_int_equal(launch.children, 4);
    assert_int_equal(launch.size, 4);
    assert_string_equal(launch.rendezvous, "");

    assert_int_equal(
        find(&launch, "",
             (struct launch_flags){.rank_given = true, .rank = 2, .world_size = 6, .processes = 4, .rendezvous = "h:1"},
             &err),
        0);
    assert_int_equal(launch.rank, 2);
    assert_int_equal(launch.children, 4);

    assert_int_equal(find(&launch, "", (struct launch_flags){.processes = 1}, &err), 0);
    assert_int_equal(launch.kind, LAUNCH_ALONE);
    assert_int_equal(launch.children, 0);

    /* A single process that may have to be started again is a child too. */
    assert_int_equal(find(&launch, "", (struct launch_flags){.processes = 1, .restarts = 3}, &err), 0);
    assert_int_equal(launch.children, 1);
    assert_int_equal(launch.size, 1);
    assert_int_equal(launch.restarts, 3);

    /* Where the launcher names no address, --rendezvous may. */
    assert_int_equal(find(&launch, OMPI, (struct launch_flags){.rendezvous = "h:1"}, &err), 0);
    assert_string_equal(launch.rendezvous, "h:1");
}

TEST(command_lines_that_contradict_themselves_are_refused)
{
    static char long_name[600];
    memset(long_name, 'x', sizeof long_name - 1);
    static const struct {
        struct launch_flags flags;
        const char *words, *says;
    } cases[] = {
        {{.rank_given = true, .rank = 0}, "", "--rank needs --world-size"},
        {{.world_size = 2}, "", "--world-size needs --rank"},
        {{.rank_given = true, .rank = 2, .world_size = 2, .rendezvous = "f"}, "", "not below"},
        {{.rank_given = true, .rank = 1, .world_size = 2}, "", "a place to meet"},
        {{.rank_given = true, .rank = 1, .world_size = 4, .processes = 4, .rendezvous = "f"}, "", "ranks 1 to 4"},
        {{.processes = 70000}, "", "more than"},
        {{.processes = 2}, OMPI, "OMPI_COMM_WORLD_SIZE"},
        {{.rank_given = true, .rank = 1, .world_size = 2, .rendezvous = long_name}, "", "longer"},
        {{.restarts = 3}, "", "--restarts needs --processes or --gpus"},
        {{.restarts = 3, .rank_given = true, .world_size = 2, .rendezvous = "f"}, "", "--restarts needs"},
        {{.restarts = 3}, OMPI, "mpirun started these"},
        {{.restarts = 3}, "PMI_SIZE=2 PMI_RANK=0", "MPI (PMI) started these"},
        {{.restarts = 3}, "WORLD_SIZE=2 RANK=0", "torchrun started these"},
        {{.restarts = 3}, "SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_PROCID=0", "srun started these"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct launch launch;
        struct error err = {0};
        assert_int_equal(find(&launch, cases[i].words, cases[i].flags, &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        if (!strstr(err.text, cases[i].says))
            fail_msg("\"%s\" does not hold \"%s\"", err.text, cases[i].says);
    }
}

static const char *only_child(void *context, const char *name)
{
    return strcmp(name, LAUNCH_CHILD_VARIABLE) == 0 ? context : NULL;
}

TEST(a_child_learns_what_its_parent_says)
{
    const struct launch said = {
        .rank = 5, .size = 8, .local_rank = 1, .local_size = 4, .rendezvous = "/a dir/f", .listener = 7, .key_pipe = 9};
    const struct launch_flags flags = {.processes = 4};
    char text[LAUNCH_CHILD_BYTES];
    struct launch heard;
    struct error err = {0};
    launch_child_text(&said, text);
    assert_int_equal(launch_find(&heard, &flags, (struct environment){only_child, text}, &err), 0);
    assert_int_equal(heard.kind, LAUNCH_CHILD);
    assert_int_equal(heard.rank, 5);
    assert_int_equal(heard.size, 8);
    assert_int_equal(heard.children, 0);
    assert_int_equal(heard.local_rank, 1);
    assert_int_equal(heard.local_size, 4);
    assert_int_equal(heard.listener, 7);
    assert_int_equal(heard.key_pipe, 9);
    assert_false(heard.key.given);
    assert_string_equal(heard.rendezvous, "/a dir/f");
}

TEST(a_child_reads_the_key_from_a_pipe)
{
    struct launch said = {.listener = -1}, heard = {0};
    char text[LAUNCH_CHILD_BYTES], digits[2 * JOB_KEY_BYTES + 1];
    job_key_random(&said.key);
    assert_int_equal(launch_key_write(&said), 0);
    launch_child_text(&said, text);
    assert_null(strstr(text, hex_write(said.key.bytes, 4, digits))); /* not a part of it either */
    heard.key_pipe = said.key_pipe;
    assert_int_equal(launch_key_read(&heard), 0);
    assert_true(heard.key.given);
    assert_memory_equal(heard.key.bytes, said.key.bytes, sizeof said.key.bytes);
    assert_int_equal(heard.key_pipe, -1);
    heard.key_pipe = said.key_pipe;
    assert_int_equal(launch_key_read(&heard), -1); /* it was closed */
}

TEST(threads_are_shared_out)
{
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < 3; rank++)
        sum += launch_threads(&(struct launch){.local_rank = rank, .local_size = 3}, 8);
    assert_int_equal(sum, 8);
    assert_int_equal(launch_threads(&(struct launch){.local_rank = 0, .local_size = 3}, 8), 3);
    assert_int_equal(launch_threads(&(struct launch){.local_rank = 7, .local_size = 8}, 2), 1);
    assert_int_equal(launch_threads(&(struct launch){.local_rank = 1}, 2), 2);
}

GROUP(clear, NULL)
