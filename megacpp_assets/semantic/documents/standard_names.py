"""Names of the C and C++ standard libraries and of POSIX, by the header that promises each of them.

In C++ the header `stdio` of C is `<cstdio>`, in C it is `<stdio.h>`.
"""

from __future__ import annotations

from typing import Final

from megacpp_assets.semantic.documents.standard_names_cxx import CXX

_C: Final = {
    "assert": "assert",
    "ctype": "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit "
    "tolower toupper",
    "errno": "E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBADMSG EBUSY ECANCELED "
    "ECHILD ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDQUOT EEXIST EFAULT EFBIG EHOSTUNREACH "
    "EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE ENAMETOOLONG ENETDOWN "
    "ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT ENOEXEC ENOLCK ENOLINK ENOMEM ENOMSG ENOPROTOOPT "
    "ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENXIO EOPNOTSUPP EOVERFLOW "
    "EOWNERDEAD EPERM EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EROFS errno ESHUTDOWN ESPIPE ESRCH ESTALE ETIME "
    "ETIMEDOUT ETXTBSY EWOULDBLOCK EXDEV",
    "float": "DBL_DECIMAL_DIG DBL_DIG DBL_EPSILON DBL_HAS_SUBNORM DBL_MANT_DIG DBL_MAX DBL_MAX_10_EXP DBL_MAX_EXP "
    "DBL_MIN DBL_MIN_10_EXP DBL_MIN_EXP DBL_TRUE_MIN DECIMAL_DIG FLT_DECIMAL_DIG FLT_DIG FLT_EPSILON FLT_EVAL_METHOD "
    "FLT_HAS_SUBNORM FLT_MANT_DIG FLT_MAX FLT_MAX_10_EXP FLT_MAX_EXP FLT_MIN FLT_MIN_10_EXP FLT_MIN_EXP FLT_RADIX "
    "FLT_ROUNDS FLT_TRUE_MIN LDBL_DECIMAL_DIG LDBL_DIG LDBL_EPSILON LDBL_HAS_SUBNORM LDBL_MANT_DIG LDBL_MAX "
    "LDBL_MAX_10_EXP LDBL_MAX_EXP LDBL_MIN LDBL_MIN_10_EXP LDBL_MIN_EXP LDBL_TRUE_MIN",
    "inttypes": "imaxabs imaxdiv imaxdiv_t PRId16 PRId32 PRId64 PRId8 PRIdMAX PRIdPTR PRIi16 PRIi32 PRIi64 PRIi8 "
    "PRIiMAX PRIiPTR PRIo16 PRIo32 PRIo64 PRIo8 PRIoMAX PRIoPTR PRIu16 PRIu32 PRIu64 PRIu8 PRIuMAX PRIuPTR PRIX16 "
    "PRIx16 PRIX32 PRIx32 PRIX64 PRIx64 PRIX8 PRIx8 PRIXMAX PRIxMAX PRIXPTR PRIxPTR SCNd16 SCNd32 SCNd64 SCNd8 "
    "SCNdMAX SCNdPTR SCNi16 SCNi32 SCNi64 SCNi8 SCNiMAX SCNiPTR SCNo16 SCNo32 SCNo64 SCNo8 SCNoMAX SCNoPTR SCNu16 "
    "SCNu32 SCNu64 SCNu8 SCNuMAX SCNuPTR SCNx16 SCNx32 SCNx64 SCNx8 SCNxMAX SCNxPTR strtoimax strtoumax wcstoimax "
    "wcstoumax",
    "limits": "CHAR_BIT CHAR_MAX CHAR_MIN INT_MAX INT_MIN IOV_MAX LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN MB_LEN_MAX "
    "NAME_MAX PATH_MAX SCHAR_MAX SCHAR_MIN SHRT_MAX SHRT_MIN UCHAR_MAX UINT_MAX ULLONG_MAX ULONG_MAX USHRT_MAX",
    "locale": "duplocale freelocale LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME lconv "
    "locale_t localeconv newlocale setlocale uselocale",
    "math": "acos acosf acosh acoshf acoshl acosl asin asinf asinh asinhf asinhl asinl atan atan2 atan2f atan2l "
    "atanf atanh atanhf atanhl atanl cbrt cbrtf cbrtl ceil ceilf ceill copysign copysignf copysignl cos cosf cosh "
    "coshf coshl cosl double_t erf erfc erfcf erfcl erff erfl exp exp2 exp2f exp2l expf expl expm1 expm1f expm1l "
    "fabs fabsf fabsl fdim fdimf fdiml float_t floor floorf floorl fma fmaf fmal fmax fmaxf fmaxl fmin fminf fminl "
    "fmod fmodf fmodl FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO fpclassify frexp "
    "frexpf frexpl HUGE_VAL HUGE_VALF HUGE_VALL hypot hypotf hypotl ilogb ilogbf ilogbl INFINITY isfinite isgreater "
    "isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered ldexp ldexpf ldexpl lgamma "
    "lgammaf lgammal llrint llrintf llrintl llround llroundf llroundl log log10 log10f log10l log1p log1pf log1pl "
    "log2 log2f log2l logb logbf logbl logf logl lrint lrintf lrintl lround lroundf lroundl M_1_PI M_2_PI M_2_SQRTPI "
    "M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 MATH_ERREXCEPT math_errhandling "
    "MATH_ERRNO modf modff modfl NAN nan nanf nanl nearbyint nearbyintf nearbyintl nextafter nextafterf nextafterl "
    "nexttoward nexttowardf nexttowardl pow powf powl remainder remainderf remainderl remquo remquof remquol rint "
    "rintf rintl round roundf roundl scalbln scalblnf scalblnl scalbn scalbnf scalbnl signbit sin sinf sinh sinhf "
    "sinhl sinl sqrt sqrtf sqrtl tan tanf tanh tanhf tanhl tanl tgamma tgammaf tgammal trunc truncf truncl",
    "setjmp": "jmp_buf longjmp setjmp sigjmp_buf siglongjmp sigsetjmp",
    "signal": "kill killpg NSIG psignal pthread_kill pthread_sigmask raise SA_NOCLDSTOP SA_NODEFER SA_ONSTACK "
    "SA_RESETHAND SA_RESTART SA_SIGINFO sig_atomic_t SIG_BLOCK SIG_DFL SIG_ERR SIG_IGN SIG_SETMASK SIG_UNBLOCK "
    "SIGABRT sigaction sigaddset SIGALRM sigaltstack SIGBUS SIGCHLD SIGCONT sigdelset sigemptyset sigfillset SIGFPE "
    "SIGHUP SIGILL siginfo_t SIGINT SIGIO sigismember SIGKILL signal sigpending SIGPIPE sigprocmask SIGPROF SIGQUIT "
    "SIGRTMAX SIGRTMIN SIGSEGV sigset_t SIGSTKSZ SIGSTOP sigsuspend SIGSYS SIGTERM sigtimedwait SIGTRAP SIGTSTP "
    "SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 sigval SIGVTALRM sigwait sigwaitinfo SIGWINCH SIGXCPU SIGXFSZ stack_t "
    "ucontext_t",
    "stdarg": "va_arg va_copy va_end va_list va_start",
    "stddef": "byte max_align_t NULL nullptr_t offsetof ptrdiff_t size_t",
    "stdint": "INT16_C INT16_MAX INT16_MIN int16_t INT32_C INT32_MAX INT32_MIN int32_t INT64_C INT64_MAX INT64_MIN "
    "int64_t INT8_C INT8_MAX INT8_MIN int8_t INT_FAST16_MAX INT_FAST16_MIN int_fast16_t INT_FAST32_MAX "
    "INT_FAST32_MIN int_fast32_t INT_FAST64_MAX INT_FAST64_MIN int_fast64_t INT_FAST8_MAX INT_FAST8_MIN int_fast8_t "
    "INT_LEAST16_MAX INT_LEAST16_MIN int_least16_t INT_LEAST32_MAX INT_LEAST32_MIN int_least32_t INT_LEAST64_MAX "
    "INT_LEAST64_MIN int_least64_t INT_LEAST8_MAX INT_LEAST8_MIN int_least8_t INTMAX_C INTMAX_MAX INTMAX_MIN "
    "intmax_t INTPTR_MAX INTPTR_MIN intptr_t PTRDIFF_MAX PTRDIFF_MIN SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIZE_MAX UINT16_C "
    "UINT16_MAX uint16_t UINT32_C UINT32_MAX uint32_t UINT64_C UINT64_MAX uint64_t UINT8_C UINT8_MAX uint8_t "
    "UINT_FAST16_MAX uint_fast16_t UINT_FAST32_MAX uint_fast32_t UINT_FAST64_MAX uint_fast64_t UINT_FAST8_MAX "
    "uint_fast8_t UINT_LEAST16_MAX uint_least16_t UINT_LEAST32_MAX uint_least32_t UINT_LEAST64_MAX uint_least64_t "
    "UINT_LEAST8_MAX uint_least8_t UINTMAX_C UINTMAX_MAX uintmax_t UINTPTR_MAX uintptr_t WINT_MAX WINT_MIN",
    "stdio": "_IOFBF _IOLBF _IONBF asprintf BUFSIZ clearerr EOF fclose fdopen feof ferror fflush fgetc fgetpos fgets "
    "FILE FILENAME_MAX fileno fopen FOPEN_MAX fpos_t fprintf fputc fputs fread freopen fscanf fseek fseeko fsetpos "
    "ftell ftello fwrite getc getchar getline L_tmpnam pclose perror popen printf putc putchar puts remove rename "
    "rewind scanf SEEK_CUR SEEK_END SEEK_SET setbuf setvbuf snprintf sprintf sscanf stderr stdin stdout TMP_MAX "
    "tmpfile tmpnam ungetc vasprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf",
    "stdlib": "_Exit abort abs aligned_alloc at_quick_exit atexit atof atoi atol atoll bsearch calloc div div_t exit "
    "EXIT_FAILURE EXIT_SUCCESS free getenv labs ldiv ldiv_t llabs lldiv lldiv_t malloc MB_CUR_MAX mblen mbstowcs "
    "mbtowc mkdtemp mkstemp posix_memalign putenv qsort quick_exit rand RAND_MAX random realloc realpath setenv "
    "srand srandom strtod strtof strtol strtold strtoll strtoul strtoull system unsetenv wcstombs wctomb",
    "string": "memchr memcmp memcpy memmem memmove memrchr memset stpcpy strcat strchr strcmp strcoll strcpy strcspn "
    "strdup strerror strerror_r strlen strncat strncmp strncpy strndup strnlen strpbrk strrchr strsignal strspn "
    "strstr strtok strtok_r strxfrm",
    "time": "asctime clock clock_gettime CLOCK_MONOTONIC CLOCK_REALTIME clock_t CLOCKS_PER_SEC ctime difftime gmtime "
    "gmtime_r localtime localtime_r mktime nanosleep strftime strptime time time_t TIME_UTC timegm timespec "
    "timespec_get tm",
    "wchar": "btowc fgetwc fgetws fputwc fputws fwide fwprintf fwscanf getwc getwchar mbrlen mbrtowc mbsinit "
    "mbsrtowcs mbstate_t putwc putwchar swprintf swscanf ungetwc vfwprintf vfwscanf vswprintf vswscanf vwprintf "
    "vwscanf WCHAR_MAX WCHAR_MIN wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsdup wcsftime wcslen wcsncat "
    "wcsncmp wcsncpy wcsnlen wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstok wcstol wcstold wcstoll "
    "wcstoul wcstoull wcswidth wcsxfrm wctob wcwidth WEOF wint_t wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf "
    "wscanf",
    "wctype": "iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace "
    "iswupper iswxdigit towctrans towlower towupper wctrans wctrans_t wctype wctype_t",
    "fenv": "FE_ALL_EXCEPT FE_DFL_ENV FE_DIVBYZERO FE_DOWNWARD FE_INEXACT FE_INVALID FE_OVERFLOW FE_TONEAREST "
    "FE_TOWARDZERO FE_UNDERFLOW FE_UPWARD feclearexcept fegetenv fegetexceptflag fegetround feholdexcept fenv_t "
    "feraiseexcept fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fexcept_t",
    "uchar": "c16rtomb c32rtomb c8rtomb mbrtoc16 mbrtoc32 mbrtoc8",
}
"""Names without a namespace, or of `std`; POSIX adds some to these headers."""
_C_ONLY: Final = {
    "stdbool": "bool false true",
    "stdatomic": "atomic_bool ATOMIC_BOOL_LOCK_FREE atomic_char atomic_char16_t ATOMIC_CHAR16_T_LOCK_FREE "
    "atomic_char32_t ATOMIC_CHAR32_T_LOCK_FREE ATOMIC_CHAR_LOCK_FREE atomic_compare_exchange_strong "
    "atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak atomic_compare_exchange_weak_explicit "
    "atomic_exchange atomic_exchange_explicit atomic_fetch_add atomic_fetch_add_explicit atomic_fetch_and "
    "atomic_fetch_and_explicit atomic_fetch_or atomic_fetch_or_explicit atomic_fetch_sub atomic_fetch_sub_explicit "
    "atomic_fetch_xor atomic_fetch_xor_explicit atomic_flag atomic_flag_clear atomic_flag_clear_explicit "
    "ATOMIC_FLAG_INIT atomic_flag_test_and_set atomic_flag_test_and_set_explicit atomic_init atomic_int "
    "atomic_int_fast16_t atomic_int_fast32_t atomic_int_fast64_t atomic_int_fast8_t atomic_int_least16_t "
    "atomic_int_least32_t atomic_int_least64_t atomic_int_least8_t ATOMIC_INT_LOCK_FREE atomic_intmax_t "
    "atomic_intptr_t atomic_is_lock_free atomic_llong ATOMIC_LLONG_LOCK_FREE atomic_load atomic_load_explicit "
    "atomic_long ATOMIC_LONG_LOCK_FREE ATOMIC_POINTER_LOCK_FREE atomic_ptrdiff_t atomic_schar atomic_short "
    "ATOMIC_SHORT_LOCK_FREE atomic_signal_fence atomic_size_t atomic_store atomic_store_explicit atomic_thread_fence "
    "atomic_uchar atomic_uint atomic_uint_fast16_t atomic_uint_fast32_t atomic_uint_fast64_t atomic_uint_fast8_t "
    "atomic_uint_least16_t atomic_uint_least32_t atomic_uint_least64_t atomic_uint_least8_t atomic_uintmax_t "
    "atomic_uintptr_t atomic_ullong atomic_ulong atomic_ushort ATOMIC_VAR_INIT atomic_wchar_t "
    "ATOMIC_WCHAR_T_LOCK_FREE kill_dependency memory_order memory_order_acq_rel memory_order_acquire "
    "memory_order_consume memory_order_relaxed memory_order_release memory_order_seq_cst",
    "assert": "static_assert",
    "complex": "cabs cabsf cabsl cacos cacosf cacosh cacoshf cacoshl cacosl carg cargf cargl casin casinf casinh "
    "casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl ccos ccosf ccosh ccoshf ccoshl ccosl cexp "
    "cexpf cexpl cimag cimagf cimagl clog clogf clogl conj conjf conjl cpow cpowf cpowl cproj cprojf cprojl creal "
    "crealf creall csin csinf csinh csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf ctanh ctanhf ctanhl ctanl",
    "stdalign": "alignas alignof",
    "stdnoreturn": "noreturn",
    "stddef": "wchar_t",
    "uchar": "char16_t char32_t",
    "threads": "call_once cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_t cnd_timedwait cnd_wait mtx_destroy "
    "mtx_init mtx_lock mtx_plain mtx_recursive mtx_t mtx_timed mtx_timedlock mtx_trylock mtx_unlock once_flag "
    "ONCE_FLAG_INIT thrd_busy thrd_create thrd_current thrd_detach thrd_equal thrd_error thrd_exit thrd_join "
    "thrd_nomem thrd_sleep thrd_start_t thrd_success thrd_t thrd_timedout thrd_yield thread_local tss_create "
    "tss_delete TSS_DTOR_ITERATIONS tss_dtor_t tss_get tss_set tss_t",
}
_POSIX: Final = {
    "sys/types.h": "ssize_t off_t pid_t uid_t gid_t mode_t dev_t ino_t nlink_t blksize_t blkcnt_t u_int8_t u_int32_t",
    "sys/stat.h": "stat fstat lstat mkdir chmod fchmod umask mkfifo S_ISDIR S_ISREG S_ISLNK S_IRUSR S_IWUSR S_IFMT "
    "S_IFBLK S_IFCHR S_IFDIR S_IFIFO S_IFLNK S_IFREG S_IFSOCK S_IRGRP S_IROTH S_IRWXG S_IRWXO S_IRWXU S_ISBLK S_ISCHR "
    "S_ISFIFO S_ISGID S_ISSOCK S_ISUID S_ISVTX S_IWGRP S_IWOTH S_IXGRP S_IXOTH S_IXUSR UTIME_NOW UTIME_OMIT fchmodat "
    "fstatat futimens mkdirat mknod utimensat",
    "sys/time.h": "timeval gettimeofday utimes timerclear timeradd timersub itimerval setitimer ITIMER_PROF "
    "ITIMER_REAL ITIMER_VIRTUAL futimes getitimer lutimes settimeofday timercmp timerisset",
    "sys/wait.h": "wait waitpid WEXITSTATUS WIFEXITED WIFSIGNALED WTERMSIG WNOHANG WCOREDUMP WIFSTOPPED WIFCONTINUED "
    "WSTOPSIG WUNTRACED WCONTINUED P_ALL P_PGID P_PID idtype_t wait3 wait4 waitid",
    "sys/mman.h": "mmap munmap mprotect madvise msync MAP_FAILED MAP_PRIVATE MAP_SHARED MAP_ANONYMOUS PROT_READ "
    "PROT_EXEC PROT_NONE PROT_WRITE MAP_FIXED MAP_ANON MAP_NORESERVE MAP_POPULATE MADV_DONTNEED MADV_RANDOM "
    "MADV_SEQUENTIAL MADV_WILLNEED MCL_CURRENT MCL_FUTURE MS_ASYNC MS_SYNC mincore mlock mlockall mremap munlock "
    "munlockall posix_madvise shm_open shm_unlink",
    "sys/resource.h": "getrlimit setrlimit rlimit getrusage rusage RLIMIT_NOFILE RUSAGE_SELF RLIM_INFINITY RLIMIT_AS "
    "RLIMIT_CORE RLIMIT_CPU RLIMIT_DATA RLIMIT_FSIZE RLIMIT_NPROC RLIMIT_STACK RUSAGE_CHILDREN PRIO_PROCESS "
    "getpriority rlim_t setpriority",
    "sys/socket.h": "socket bind listen accept connect send recv sendto recvfrom sendmsg recvmsg setsockopt getsockopt "
    "getsockname getpeername shutdown socketpair sockaddr sockaddr_storage socklen_t msghdr cmsghdr AF_INET AF_INET6 "
    "AF_UNIX AF_UNSPEC SOCK_STREAM SOCK_DGRAM SOL_SOCKET SO_REUSEADDR SO_ERROR sa_family_t AF_LOCAL CMSG_DATA "
    "CMSG_FIRSTHDR CMSG_LEN CMSG_NXTHDR CMSG_SPACE MSG_CTRUNC MSG_DONTWAIT MSG_NOSIGNAL MSG_PEEK MSG_TRUNC "
    "MSG_WAITALL PF_INET PF_INET6 PF_LOCAL PF_UNIX PF_UNSPEC SCM_RIGHTS SHUT_RD SHUT_RDWR SHUT_WR SOCK_CLOEXEC "
    "SOCK_NONBLOCK SOCK_RAW SOCK_SEQPACKET SOMAXCONN SO_BROADCAST SO_KEEPALIVE SO_LINGER SO_RCVBUF SO_RCVTIMEO "
    "SO_REUSEPORT SO_SNDBUF SO_SNDTIMEO SO_TYPE accept4 linger",
    "sys/uio.h": "iovec readv writev",
    "sys/un.h": "sockaddr_un",
    "sys/ioctl.h": "ioctl winsize TIOCGWINSZ FIONBIO FIONREAD",
    "sys/epoll.h": "epoll_create epoll_create1 epoll_ctl epoll_wait epoll_event EPOLLIN EPOLLOUT EPOLL_CTL_ADD "
    "EPOLLERR EPOLLET EPOLLHUP EPOLLONESHOT EPOLLPRI EPOLLRDHUP EPOLL_CLOEXEC EPOLL_CTL_DEL EPOLL_CTL_MOD "
    "epoll_data_t epoll_pwait",
    "sys/utsname.h": "utsname uname",
    "sys/select.h": "fd_set select FD_SET FD_ZERO FD_ISSET FD_CLR pselect",
    "netinet/in.h": "sockaddr_in sockaddr_in6 in_addr in6_addr in_addr_t in_port_t INADDR_ANY INADDR_LOOPBACK "
    "IPPROTO_TCP IPPROTO_IP IPPROTO_IPV6 IPPROTO_UDP ip_mreq ipv6_mreq in6addr_any INADDR_BROADCAST INADDR_NONE "
    "INET6_ADDRSTRLEN INET_ADDRSTRLEN IN6ADDR_ANY_INIT IN6ADDR_LOOPBACK_INIT IN6_IS_ADDR_LINKLOCAL "
    "IN6_IS_ADDR_LOOPBACK IN6_IS_ADDR_MULTICAST IN6_IS_ADDR_V4MAPPED IPPROTO_ICMP IPPROTO_ICMPV6 IPPROTO_RAW "
    "IPV6_V6ONLY IP_ADD_MEMBERSHIP IP_MULTICAST_IF IP_MULTICAST_LOOP IP_MULTICAST_TTL IP_TTL in6addr_loopback",
    "netinet/tcp.h": "TCP_NODELAY TCP_KEEPIDLE TCP_KEEPINTVL TCP_KEEPCNT",
    "arpa/inet.h": "htonl htons ntohl ntohs inet_addr inet_ntoa inet_ntop inet_pton inet_aton",
    "netdb.h": "addrinfo getaddrinfo freeaddrinfo gai_strerror getnameinfo hostent gethostbyname NI_NUMERICHOST "
    "AI_ADDRCONFIG AI_CANONNAME AI_NUMERICHOST AI_NUMERICSERV AI_PASSIVE AI_V4MAPPED EAI_AGAIN EAI_BADFLAGS EAI_FAIL "
    "EAI_FAMILY EAI_MEMORY EAI_NODATA EAI_NONAME EAI_SERVICE EAI_SOCKTYPE EAI_SYSTEM HOST_NOT_FOUND NI_DGRAM "
    "NI_MAXHOST NI_MAXSERV NI_NAMEREQD NI_NUMERICSERV NO_DATA NO_RECOVERY TRY_AGAIN gethostbyaddr gethostbyname_r "
    "getprotobyname getservbyname getservbyport h_errno hstrerror protoent servent",
    "net/if.h": "if_indextoname if_nametoindex IF_NAMESIZE ifreq",
    "unistd.h": "access chdir close dup dup2 execve execvp fork fsync ftruncate getcwd getpid getppid getuid geteuid "
    "gethostname getopt isatty link lseek optarg optind pipe pread pwrite read readlink rmdir sleep symlink sysconf "
    "truncate unlink usleep write _exit STDIN_FILENO STDOUT_FILENO STDERR_FILENO _SC_PAGESIZE _SC_NPROCESSORS_ONLN "
    "R_OK W_OK X_OK F_OK environ alarm chown fchown fdatasync setuid setgid setsid confstr copy_file_range "
    "dup3 execl execle execlp execv execvpe faccessat fchdir fchownat fpathconf getegid getentropy getgid getgroups "
    "getlogin getlogin_r getpagesize getpgid getpgrp getsid gettid lchown linkat lockf opterr "
    "optopt pathconf pipe2 readlinkat sbrk setegid seteuid setpgid setregid setreuid symlinkat syscall "
    "tcgetpgrp tcsetpgrp ttyname ttyname_r unlinkat vfork _SC_CLK_TCK _SC_NPROCESSORS_CONF _SC_OPEN_MAX _SC_PAGE_SIZE "
    "_SC_PHYS_PAGES",
    "fcntl.h": "open openat creat fcntl flock O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_TRUNC O_APPEND O_NONBLOCK "
    "O_CLOEXEC FD_CLOEXEC F_GETFD F_SETFD F_GETFL F_SETFL F_SETLK F_RDLCK F_WRLCK F_UNLCK AT_FDCWD AT_EMPTY_PATH "
    "AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_SYMLINK_NOFOLLOW F_DUPFD F_DUPFD_CLOEXEC F_GETLK F_GETOWN F_SETLKW F_SETOWN "
    "O_ACCMODE O_ASYNC O_DIRECT O_DIRECTORY O_DSYNC O_LARGEFILE O_NDELAY O_NOATIME O_NOCTTY O_NOFOLLOW O_PATH O_SYNC "
    "O_TMPFILE POSIX_FADV_DONTNEED POSIX_FADV_NORMAL POSIX_FADV_RANDOM POSIX_FADV_SEQUENTIAL POSIX_FADV_WILLNEED "
    "fallocate posix_fadvise posix_fallocate",
    "dirent.h": "DIR dirent opendir readdir closedir scandir DT_BLK DT_CHR DT_DIR DT_FIFO DT_LNK DT_REG DT_SOCK "
    "DT_UNKNOWN dirfd fdopendir rewinddir seekdir telldir alphasort",
    "dlfcn.h": "dlopen dlsym dlclose dlerror RTLD_LAZY RTLD_NOW RTLD_GLOBAL Dl_info dladdr RTLD_DEFAULT RTLD_LOCAL "
    "RTLD_NEXT RTLD_NODELETE RTLD_NOLOAD",
    "poll.h": "poll pollfd POLLIN POLLOUT POLLERR POLLHUP nfds_t ppoll POLLNVAL POLLPRI POLLRDHUP POLLRDNORM "
    "POLLWRNORM",
    "pwd.h": "passwd getpwuid getpwnam getpwuid_r endpwent getpwent getpwnam_r setpwent",
    "grp.h": "group getgrgid getgrnam getgrgid_r endgrent getgrent getgrnam_r getgrouplist initgroups setgrent "
    "setgroups",
    "sched.h": "sched_yield cpu_set_t CPU_SET CPU_ZERO sched_param CPU_CLR CPU_COUNT CPU_ISSET CPU_SETSIZE SCHED_FIFO "
    "SCHED_OTHER SCHED_RR sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getcpu sched_getparam "
    "sched_getscheduler sched_setaffinity sched_setparam sched_setscheduler",
    "semaphore.h": "sem_t sem_init sem_wait sem_post sem_destroy sem_trywait SEM_FAILED sem_close sem_getvalue "
    "sem_open sem_timedwait sem_unlink",
    "strings.h": "strcasecmp strncasecmp bzero ffs bcmp bcopy ffsl",
    "termios.h": "termios tcgetattr tcsetattr ECHO ICANON TCSANOW B115200 B9600 BRKINT CBAUD CLOCAL CREAD CRTSCTS CS8 "
    "CSIZE CSTOPB ECHOE ECHOK ECHONL ICRNL IEXTEN IGNBRK IGNCR INLCR INPCK ISIG ISTRIP IXANY IXOFF IXON ONLCR OPOST "
    "PARENB PARMRK TCIFLUSH TCIOFLUSH TCOFLUSH TCSADRAIN TCSAFLUSH VEOF VEOL VERASE VINTR VKILL VMIN VQUIT VSTART "
    "VSTOP VSUSP VTIME cc_t cfgetispeed cfgetospeed cfmakeraw cfsetispeed cfsetospeed speed_t tcdrain tcflag_t tcflow "
    "tcflush",
    "syslog.h": "syslog openlog closelog LOG_ERR LOG_INFO LOG_ALERT LOG_AUTH LOG_CONS LOG_CRIT LOG_DAEMON LOG_DEBUG "
    "LOG_EMERG LOG_LOCAL0 LOG_NDELAY LOG_NOTICE LOG_PERROR LOG_PID LOG_UPTO LOG_USER LOG_WARNING setlogmask vsyslog",
    "pthread.h": "",
    "sys/eventfd.h": "EFD_CLOEXEC EFD_NONBLOCK EFD_SEMAPHORE eventfd eventfd_t",
    "sys/inotify.h": "IN_ATTRIB IN_CLOEXEC IN_CREATE IN_DELETE IN_DELETE_SELF IN_IGNORED IN_ISDIR IN_MODIFY "
    "IN_MOVED_FROM IN_MOVED_TO IN_MOVE_SELF IN_NONBLOCK IN_Q_OVERFLOW inotify_add_watch inotify_event inotify_init "
    "inotify_init1 inotify_rm_watch",
    "sys/file.h": "LOCK_EX LOCK_NB LOCK_SH LOCK_UN",
    "sys/random.h": "getrandom GRND_NONBLOCK GRND_RANDOM",
    "sys/sendfile.h": "sendfile",
    "sys/signalfd.h": "SFD_CLOEXEC SFD_NONBLOCK signalfd signalfd_siginfo",
    "sys/statfs.h": "fstatfs statfs",
    "sys/statvfs.h": "fstatvfs statvfs",
    "sys/sysinfo.h": "get_nprocs get_nprocs_conf sysinfo",
    "sys/timerfd.h": "TFD_CLOEXEC TFD_NONBLOCK TFD_TIMER_ABSTIME timerfd_create timerfd_gettime timerfd_settime",
    "sys/times.h": "tms",
    "err.h": "errx verr verrx vwarnx warnx",
    "execinfo.h": "backtrace backtrace_symbols backtrace_symbols_fd",
    "fnmatch.h": "FNM_NOESCAPE FNM_NOMATCH FNM_PATHNAME FNM_PERIOD fnmatch",
    "ftw.h": "FTW_D FTW_DEPTH FTW_DP FTW_F FTW_PHYS FTW_SL ftw nftw",
    "getopt.h": "getopt_long getopt_long_only no_argument optional_argument required_argument",
    "glob.h": "GLOB_APPEND GLOB_BRACE GLOB_MARK GLOB_NOCHECK GLOB_NOMATCH GLOB_NOSORT GLOB_NOSPACE GLOB_TILDE glob "
    "glob_t globfree",
    "iconv.h": "iconv iconv_close iconv_open iconv_t",
    "langinfo.h": "CODESET D_FMT D_T_FMT RADIXCHAR T_FMT nl_langinfo",
    "libgen.h": "basename dirname",
    "regex.h": "REG_BADBR REG_BADPAT REG_BADRPT REG_EBRACE REG_EBRACK REG_ECOLLATE REG_ECTYPE REG_EESCAPE REG_EPAREN "
    "REG_ERANGE REG_ESPACE REG_ESUBREG REG_EXTENDED REG_ICASE REG_NEWLINE REG_NOMATCH REG_NOSUB REG_NOTBOL REG_NOTEOL "
    "regcomp regerror regex_t regexec regfree regmatch_t regoff_t",
    "spawn.h": "posix_spawn posix_spawn_file_actions_addclose posix_spawn_file_actions_adddup2 "
    "posix_spawn_file_actions_addopen posix_spawn_file_actions_destroy posix_spawn_file_actions_init "
    "posix_spawn_file_actions_t posix_spawnattr_destroy posix_spawnattr_init posix_spawnattr_setflags "
    "posix_spawnattr_setsigdefault posix_spawnattr_t posix_spawnp",
    "utime.h": "utimbuf utime",
    "wordexp.h": "WRDE_NOCMD wordexp wordexp_t wordfree",
}
_TRAITS: Final = "type_traits"
_FORMS: Final = ("", "_t", "_v")
"""A trait `NAME`, its type and its value."""


def _by_name(table: dict[str, str], form: str = "{}") -> dict[str, str]:
    return {name: form.format(header) for header, names in table.items() for name in names.split()}


IN_C: Final = _by_name(_POSIX) | _by_name(_C, "{}.h") | _by_name(_C_ONLY, "{}.h")
"""The header of each name in C."""
GLOBAL: Final = _by_name(_POSIX) | _by_name(_C, "c{}")
"""The header of each name without a namespace in C++."""
IN_STD: Final = (
    {f"{name}{form}": _TRAITS for name in CXX[_TRAITS].split() for form in _FORMS} | _by_name(_C, "c{}") | _by_name(CXX)
)
"""The header of each name of the namespace `std`."""
HEADERS: Final = frozenset((*IN_C.values(), *GLOBAL.values(), *IN_STD.values(), "immintrin.h", "pthread.h", "version"))
"""All of them."""
