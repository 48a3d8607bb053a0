"""Names of the C++ standard library, but for those of C, by the header that promises each of them."""

from __future__ import annotations

from typing import Final

CXX: Final = {
    "algorithm": "adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if "
    "equal equal_range fill fill_n find find_end find_first_of find_if find_if_not for_each for_each_n generate "
    "generate_n includes inplace_merge is_heap is_heap_until is_partitioned is_permutation is_sorted is_sorted_until "
    "iter_swap lexicographical_compare lexicographical_compare_three_way lower_bound make_heap max max_element merge "
    "min min_element minmax minmax_element mismatch move_backward next_permutation none_of nth_element partial_sort "
    "partial_sort_copy partition partition_copy partition_point pop_heap prev_permutation push_heap random_shuffle "
    "remove_copy remove_copy_if remove_if replace replace_copy replace_copy_if replace_if reverse reverse_copy "
    "rotate rotate_copy sample search search_n set_difference set_intersection set_symmetric_difference set_union "
    "shift_left shift_right shuffle sort sort_heap stable_partition stable_sort swap_ranges transform unique "
    "unique_copy upper_bound",
    "any": "any any_cast bad_any_cast make_any",
    "array": "array to_array",
    "atomic": "atomic atomic_bool atomic_char atomic_char16_t atomic_char32_t atomic_char8_t "
    "atomic_compare_exchange_strong atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak "
    "atomic_compare_exchange_weak_explicit atomic_exchange atomic_exchange_explicit atomic_fetch_add "
    "atomic_fetch_add_explicit atomic_fetch_and atomic_fetch_and_explicit atomic_fetch_or atomic_fetch_or_explicit "
    "atomic_fetch_sub atomic_fetch_sub_explicit atomic_fetch_xor atomic_fetch_xor_explicit atomic_flag "
    "atomic_flag_clear atomic_flag_clear_explicit atomic_flag_notify_all atomic_flag_notify_one atomic_flag_test "
    "atomic_flag_test_and_set atomic_flag_test_and_set_explicit atomic_flag_test_explicit atomic_flag_wait "
    "atomic_init atomic_int atomic_int16_t atomic_int32_t atomic_int64_t atomic_int8_t atomic_int_fast16_t "
    "atomic_int_fast32_t atomic_int_fast64_t atomic_int_fast8_t atomic_int_least16_t atomic_int_least32_t "
    "atomic_int_least64_t atomic_int_least8_t atomic_intmax_t atomic_intptr_t atomic_is_lock_free atomic_llong "
    "atomic_load atomic_load_explicit atomic_long atomic_notify_all atomic_notify_one atomic_ptrdiff_t atomic_ref "
    "atomic_schar atomic_short atomic_signal_fence atomic_signed_lock_free atomic_size_t atomic_store "
    "atomic_store_explicit atomic_thread_fence atomic_uchar atomic_uint atomic_uint16_t atomic_uint32_t "
    "atomic_uint64_t atomic_uint8_t atomic_uint_fast16_t atomic_uint_fast32_t atomic_uint_fast64_t "
    "atomic_uint_fast8_t atomic_uint_least16_t atomic_uint_least32_t atomic_uint_least64_t atomic_uint_least8_t "
    "atomic_uintmax_t atomic_uintptr_t atomic_ullong atomic_ulong atomic_unsigned_lock_free atomic_ushort "
    "atomic_wait atomic_wait_explicit atomic_wchar_t kill_dependency memory_order memory_order_acq_rel "
    "memory_order_acquire memory_order_consume memory_order_relaxed memory_order_release memory_order_seq_cst",
    "barrier": "barrier",
    "bit": "bit_cast bit_ceil bit_floor bit_width byteswap countl_one countl_zero countr_one countr_zero endian "
    "has_single_bit popcount rotl rotr",
    "bitset": "bitset",
    "charconv": "chars_format from_chars from_chars_result to_chars to_chars_result",
    "chrono": "chrono chrono_literals",
    "cmath": "assoc_laguerre assoc_laguerref assoc_laguerrel assoc_legendre assoc_legendref assoc_legendrel beta "
    "betaf betal comp_ellint_1 comp_ellint_1f comp_ellint_1l comp_ellint_2 comp_ellint_2f comp_ellint_2l "
    "comp_ellint_3 comp_ellint_3f comp_ellint_3l cyl_bessel_i cyl_bessel_if cyl_bessel_il cyl_bessel_j cyl_bessel_jf "
    "cyl_bessel_jl cyl_bessel_k cyl_bessel_kf cyl_bessel_kl cyl_neumann cyl_neumannf cyl_neumannl ellint_1 ellint_1f "
    "ellint_1l ellint_2 ellint_2f ellint_2l ellint_3 ellint_3f ellint_3l expint expintf expintl hermite hermitef "
    "hermitel laguerre laguerref laguerrel legendre legendref legendrel lerp riemann_zeta riemann_zetaf "
    "riemann_zetal sph_bessel sph_besself sph_bessell sph_legendre sph_legendref sph_legendrel sph_neumann "
    "sph_neumannf sph_neumannl",
    "codecvt": "codecvt_mode codecvt_utf16 codecvt_utf8 codecvt_utf8_utf16 consume_header generate_header "
    "little_endian",
    "compare": "common_comparison_category common_comparison_category_t compare_partial_order_fallback "
    "compare_strong_order_fallback compare_three_way compare_three_way_result compare_three_way_result_t "
    "compare_weak_order_fallback is_eq is_gt is_gteq is_lt is_lteq is_neq partial_order partial_ordering "
    "strong_order strong_ordering three_way_comparable three_way_comparable_with weak_order weak_ordering",
    "complex": "arg complex conj imag norm polar proj real",
    "concepts": "assignable_from common_reference_with common_with constructible_from convertible_to "
    "copy_constructible copyable default_initializable derived_from destructible equality_comparable "
    "equality_comparable_with equivalence_relation floating_point integral invocable movable move_constructible "
    "predicate regular regular_invocable relation same_as semiregular signed_integral strict_weak_order swappable "
    "swappable_with totally_ordered totally_ordered_with unsigned_integral",
    "condition_variable": "condition_variable condition_variable_any cv_status notify_all_at_thread_exit",
    "coroutine": "coroutine_handle coroutine_traits noop_coroutine noop_coroutine_handle noop_coroutine_promise "
    "suspend_always suspend_never",
    "deque": "deque",
    "exception": "bad_exception current_exception exception exception_ptr get_terminate get_unexpected "
    "make_exception_ptr nested_exception rethrow_exception rethrow_if_nested set_terminate set_unexpected terminate "
    "terminate_handler throw_with_nested uncaught_exception uncaught_exceptions unexpected_handler",
    "execution": "execution",
    "expected": "bad_expected_access expected unexpect unexpect_t unexpected",
    "filesystem": "filesystem",
    "flat_map": "flat_map flat_multimap sorted_equivalent sorted_equivalent_t sorted_unique sorted_unique_t",
    "flat_set": "flat_multiset flat_set",
    "format": "basic_format_arg basic_format_args basic_format_context basic_format_parse_context "
    "basic_format_string format format_args format_context format_error format_kind format_parse_context "
    "format_string format_to format_to_n format_to_n_result formattable formatted_size formatter make_format_args "
    "make_wformat_args range_format range_formatter runtime_format vformat vformat_to visit_format_arg wformat_args "
    "wformat_context wformat_parse_context wformat_string",
    "forward_list": "forward_list",
    "fstream": "basic_filebuf basic_fstream basic_ifstream basic_ofstream filebuf fstream ifstream ofstream wfilebuf "
    "wfstream wifstream wofstream",
    "functional": "bad_function_call binary_function binary_negate bind bind1st bind2nd bind_back bind_front "
    "binder1st binder2nd bit_and bit_not bit_or bit_xor boyer_moore_horspool_searcher boyer_moore_searcher "
    "const_mem_fun1_ref_t const_mem_fun1_t const_mem_fun_ref_t const_mem_fun_t copyable_function cref "
    "default_searcher divides equal_to function function_ref greater greater_equal hash identity invoke invoke_r "
    "is_bind_expression is_bind_expression_v is_placeholder is_placeholder_v less less_equal logical_and logical_not "
    "logical_or mem_fn mem_fun mem_fun1_ref_t mem_fun1_t mem_fun_ref mem_fun_ref_t mem_fun_t minus modulus "
    "move_only_function multiplies negate not1 not2 not_equal_to not_fn placeholders plus pointer_to_binary_function "
    "pointer_to_unary_function ptr_fun ref reference_wrapper unary_function unary_negate",
    "future": "async future future_category future_errc future_error future_status launch packaged_task promise "
    "shared_future",
    "generator": "generator",
    "initializer_list": "initializer_list",
    "iomanip": "get_money get_time put_money put_time quoted resetiosflags setbase setfill setiosflags setprecision "
    "setw",
    "ios": "basic_ios boolalpha dec defaultfloat fixed fpos hex hexfloat internal io_errc ios ios_base "
    "iostream_category left noboolalpha noshowbase noshowpoint noshowpos noskipws nounitbuf nouppercase oct right "
    "scientific showbase showpoint showpos skipws streamoff streampos streamsize u16streampos u32streampos unitbuf "
    "uppercase wios wstreampos",
    "iosfwd": "",
    "iostream": "cerr cin clog cout wcerr wcin wclog wcout",
    "istream": "basic_iostream basic_istream iostream istream wiostream wistream ws",
    "iterator": "advance back_insert_iterator back_inserter basic_const_iterator begin bidirectional_iterator "
    "bidirectional_iterator_tag cbegin cend common_iterator const_iterator const_sentinel contiguous_iterator "
    "contiguous_iterator_tag counted_iterator crbegin crend data default_sentinel default_sentinel_t distance empty "
    "end forward_iterator forward_iterator_tag front_insert_iterator front_inserter incrementable "
    "incrementable_traits indirect_binary_predicate indirect_equivalence_relation indirect_result_t "
    "indirect_strict_weak_order indirect_unary_predicate indirectly_comparable indirectly_copyable "
    "indirectly_copyable_storable indirectly_movable indirectly_movable_storable indirectly_readable "
    "indirectly_readable_traits indirectly_regular_unary_invocable indirectly_swappable indirectly_unary_invocable "
    "indirectly_writable input_iterator input_iterator_tag input_or_output_iterator insert_iterator inserter "
    "istream_iterator istreambuf_iterator iter_common_reference_t iter_difference_t iter_reference_t "
    "iter_rvalue_reference_t iter_value_t iterator iterator_traits make_const_iterator make_const_sentinel "
    "make_move_iterator make_reverse_iterator mergeable move_iterator move_sentinel next ostream_iterator "
    "ostreambuf_iterator output_iterator output_iterator_tag permutable prev projected random_access_iterator "
    "random_access_iterator_tag rbegin rend reverse_iterator sentinel_for size sized_sentinel_for sortable ssize "
    "unreachable_sentinel unreachable_sentinel_t weakly_incrementable",
    "latch": "latch",
    "limits": "float_round_style numeric_limits",
    "list": "list",
    "locale": "codecvt codecvt_base codecvt_byname collate collate_byname ctype ctype_base ctype_byname has_facet "
    "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit locale "
    "messages messages_base messages_byname money_base money_get money_put moneypunct moneypunct_byname num_get "
    "num_put numpunct numpunct_byname time_base time_get time_get_byname time_put time_put_byname tolower toupper "
    "use_facet wbuffer_convert wstring_convert",
    "map": "map multimap",
    "mdspan": "default_accessor dextents dims extents full_extent full_extent_t layout_left layout_right "
    "layout_stride mdspan strided_slice submdspan",
    "memory": "addressof align allocate_shared allocate_shared_for_overwrite allocation_result allocator "
    "allocator_arg allocator_arg_t allocator_traits assume_aligned auto_ptr bad_weak_ptr const_pointer_cast "
    "construct_at default_delete destroy destroy_at destroy_n dynamic_pointer_cast enable_shared_from_this "
    "get_deleter get_temporary_buffer inout_ptr inout_ptr_t is_sufficiently_aligned make_obj_using_allocator "
    "make_shared make_shared_for_overwrite make_unique make_unique_for_overwrite out_ptr out_ptr_t owner_less "
    "pointer_traits raw_storage_iterator reinterpret_pointer_cast return_temporary_buffer shared_ptr "
    "start_lifetime_as static_pointer_cast to_address undeclare_reachable uninitialized_construct_using_allocator "
    "uninitialized_copy uninitialized_copy_n uninitialized_default_construct uninitialized_default_construct_n "
    "uninitialized_fill uninitialized_fill_n uninitialized_move uninitialized_move_n uninitialized_value_construct "
    "uninitialized_value_construct_n unique_ptr uses_allocator uses_allocator_construction_args weak_ptr",
    "memory_resource": "pmr",
    "mutex": "adopt_lock adopt_lock_t call_once defer_lock defer_lock_t lock lock_guard mutex once_flag "
    "recursive_mutex recursive_timed_mutex scoped_lock timed_mutex try_lock try_to_lock try_to_lock_t unique_lock",
    "new": "align_val_t bad_alloc bad_array_new_length destroying_delete destroying_delete_t get_new_handler "
    "hardware_constructive_interference_size hardware_destructive_interference_size launder new_handler nothrow "
    "nothrow_t set_new_handler",
    "numbers": "numbers",
    "numeric": "accumulate add_sat adjacent_difference div_sat exclusive_scan gcd inclusive_scan inner_product iota "
    "lcm midpoint mul_sat partial_sum reduce saturate_cast sub_sat transform_exclusive_scan transform_inclusive_scan "
    "transform_reduce",
    "optional": "bad_optional_access in_place_optional make_optional nullopt nullopt_t optional",
    "ostream": "basic_ostream emit_on_flush endl ends flush flush_emit noemit_on_flush ostream wostream",
    "print": "print println vprint_nonunicode vprint_unicode",
    "queue": "priority_queue queue",
    "random": "bernoulli_distribution binomial_distribution cauchy_distribution chi_squared_distribution "
    "default_random_engine discard_block_engine discrete_distribution exponential_distribution "
    "extreme_value_distribution fisher_f_distribution gamma_distribution generate_canonical geometric_distribution "
    "independent_bits_engine knuth_b linear_congruential_engine lognormal_distribution mersenne_twister_engine "
    "minstd_rand minstd_rand0 mt19937 mt19937_64 negative_binomial_distribution normal_distribution "
    "piecewise_constant_distribution piecewise_linear_distribution poisson_distribution random_device ranlux24 "
    "ranlux24_base ranlux48 ranlux48_base seed_seq shuffle_order_engine student_t_distribution "
    "subtract_with_carry_engine uniform_int_distribution uniform_random_bit_generator uniform_real_distribution "
    "weibull_distribution",
    "ranges": "elements_of from_range from_range_t ranges views",
    "ratio": "atto centi deca deci exa femto giga hecto kilo mega micro milli nano peta pico ratio ratio_add "
    "ratio_divide ratio_equal ratio_equal_v ratio_greater ratio_greater_equal ratio_greater_equal_v ratio_greater_v "
    "ratio_less ratio_less_equal ratio_less_equal_v ratio_less_v ratio_multiply ratio_not_equal ratio_not_equal_v "
    "ratio_subtract tera",
    "regex": "basic_regex cmatch cregex_iterator cregex_token_iterator csub_match match_results regex "
    "regex_constants regex_error regex_iterator regex_match regex_replace regex_search regex_token_iterator "
    "regex_traits smatch sregex_iterator sregex_token_iterator ssub_match sub_match wcmatch wcregex_iterator "
    "wcregex_token_iterator wcsub_match wregex wsmatch wsregex_iterator wsregex_token_iterator wssub_match",
    "scoped_allocator": "scoped_allocator_adaptor",
    "semaphore": "binary_semaphore counting_semaphore",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex shared_timed_mutex",
    "source_location": "source_location",
    "span": "as_bytes as_writable_bytes dynamic_extent span",
    "spanstream": "basic_ispanstream basic_ospanstream basic_spanbuf basic_spanstream ispanstream ospanstream "
    "spanbuf spanstream wispanstream wospanstream wspanbuf wspanstream",
    "sstream": "basic_istringstream basic_ostringstream basic_stringbuf basic_stringstream istringstream "
    "ostringstream stringbuf stringstream wistringstream wostringstream wstringbuf wstringstream",
    "stack": "stack",
    "stacktrace": "basic_stacktrace stacktrace stacktrace_entry",
    "stdexcept": "domain_error invalid_argument length_error logic_error out_of_range overflow_error range_error "
    "runtime_error underflow_error",
    "stdfloat": "bfloat16_t float128_t float16_t float32_t float64_t",
    "stop_token": "nostopstate nostopstate_t stop_callback stop_source stop_token",
    "streambuf": "basic_streambuf streambuf wstreambuf",
    "string": "basic_string char_traits getline stod stof stoi stol stold stoll stoul stoull string string_literals "
    "to_string to_wstring u16string u32string u8string wstring",
    "string_view": "basic_string_view string_view string_view_literals u16string_view u32string_view u8string_view "
    "wstring_view",
    "strstream": "istrstream ostrstream strstream strstreambuf",
    "syncstream": "basic_osyncstream basic_syncbuf osyncstream syncbuf wosyncstream wsyncbuf",
    "system_error": "errc error_category error_code error_condition generic_category is_error_code_enum "
    "is_error_condition_enum make_error_code make_error_condition system_category system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply forward_as_tuple ignore make_from_tuple make_tuple tie tuple tuple_cat",
    "type_traits": "add_const add_cv add_lvalue_reference add_pointer add_rvalue_reference add_volatile "
    "aligned_storage aligned_union alignment_of basic_common_reference bool_constant common_reference common_type "
    "conditional conjunction decay disjunction enable_if extent false_type has_unique_object_representations "
    "has_virtual_destructor integral_constant invoke_result is_abstract is_aggregate is_arithmetic is_array "
    "is_assignable is_base_of is_bounded_array is_class is_compound is_const is_constant_evaluated is_constructible "
    "is_convertible is_copy_assignable is_copy_constructible is_corresponding_member is_default_constructible "
    "is_destructible is_empty is_enum is_final is_floating_point is_function is_fundamental is_implicit_lifetime "
    "is_integral is_invocable is_invocable_r is_layout_compatible is_literal_type is_lvalue_reference "
    "is_member_function_pointer is_member_object_pointer is_member_pointer is_move_assignable is_move_constructible "
    "is_nothrow_assignable is_nothrow_constructible is_nothrow_convertible is_nothrow_copy_assignable "
    "is_nothrow_copy_constructible is_nothrow_default_constructible is_nothrow_destructible is_nothrow_invocable "
    "is_nothrow_invocable_r is_nothrow_move_assignable is_nothrow_move_constructible is_nothrow_swappable "
    "is_nothrow_swappable_with is_null_pointer is_object is_pod is_pointer is_pointer_interconvertible_base_of "
    "is_pointer_interconvertible_with_class is_polymorphic is_reference is_rvalue_reference is_same is_scalar "
    "is_scoped_enum is_signed is_standard_layout is_swappable is_swappable_with is_trivial is_trivially_assignable "
    "is_trivially_constructible is_trivially_copy_assignable is_trivially_copy_constructible is_trivially_copyable "
    "is_trivially_default_constructible is_trivially_destructible is_trivially_move_assignable "
    "is_trivially_move_constructible is_unbounded_array is_union is_unsigned is_void is_volatile make_signed "
    "make_unsigned negation rank reference_constructs_from_temporary reference_converts_from_temporary "
    "remove_all_extents remove_const remove_cv remove_cvref remove_extent remove_pointer remove_reference "
    "remove_volatile result_of true_type type_identity underlying_type unwrap_ref_decay unwrap_reference void_t",
    "typeindex": "type_index",
    "typeinfo": "bad_cast bad_typeid type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_multiset unordered_set",
    "utility": "as_const cmp_equal cmp_greater cmp_greater_equal cmp_less cmp_less_equal cmp_not_equal declval "
    "exchange forward forward_like get in_place in_place_index in_place_index_t in_place_t in_place_type "
    "in_place_type_t in_range index_sequence index_sequence_for integer_sequence make_index_sequence "
    "make_integer_sequence make_pair move move_if_noexcept pair piecewise_construct piecewise_construct_t rel_ops "
    "swap to_underlying tuple_element tuple_element_t tuple_size tuple_size_v unreachable",
    "valarray": "gslice gslice_array indirect_array mask_array slice slice_array valarray",
    "variant": "bad_variant_access get_if holds_alternative monostate variant variant_alternative "
    "variant_alternative_t variant_npos variant_size variant_size_v visit",
    "vector": "vector",
    "version": "",
}
"""Names of `std`, of headers alone or of namespaces in it. Of a trait only the name, without `_t` and `_v`."""
