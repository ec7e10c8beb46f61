// foldsym.hpp: foldsym.h for C++17: owners that free, loops over frames. Nothing but inline code.
//
// Every function that can fail gives a status (FOLDSYM_OK, ...) and does not throw. Where exceptions are on, those whose names
// end in `_or_throw` throw foldsym::error in place of that; define FOLDSYM_NO_EXCEPTIONS to leave them out.
//
// `modules`, `lookup` and what is called on them are async-signal-safe as tier 1 is. `map`, `symbols` and `symbolize` are tier 2:
// they allocate. Threads: as foldsym.h says of the same functions.
#ifndef FOLDSYM_HPP
#define FOLDSYM_HPP

#include "foldsym.h"
#include "foldsym_modules.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#if !defined(FOLDSYM_NO_EXCEPTIONS) && defined(__cpp_exceptions)
#define FOLDSYM_HAS_EXCEPTIONS 1
#include <stdexcept>
#endif

namespace foldsym {

/// The words for a status; never null.
inline const char *text(std::int32_t status) noexcept { return foldsym_status_text(status); }

#ifdef FOLDSYM_HAS_EXCEPTIONS
/// A negative status as an exception.
class error : public std::runtime_error {
public:
    explicit error(std::int32_t status) : std::runtime_error(foldsym_status_text(status)), status_(status) {}
    std::int32_t status() const noexcept { return status_; }

private:
    std::int32_t status_;
};
#endif

/// A C array that somebody else owns.
template <class T>
class view {
public:
    constexpr view(const T *first, std::size_t count) noexcept : first_(first), count_(count) {}
    constexpr const T *begin() const noexcept { return first_; }
    constexpr const T *end() const noexcept { return first_ + count_; }
    constexpr std::size_t size() const noexcept { return count_; }
    constexpr bool empty() const noexcept { return count_ == 0; }
    /// Element `index`, which must be below size().
    constexpr const T &operator[](std::size_t index) const noexcept { return first_[index]; }

private:
    const T *first_;
    std::size_t count_;
};

// ---- Tier 1: in signal handlers too. ----

/// A table of the modules of a process, with room for `Capacity` of them in itself. Make it static.
template <std::size_t Capacity>
class modules {
public:
    modules() noexcept { foldsym_modules_init(&table_, room_, Capacity); }
    modules(const modules &) = delete;
    modules &operator=(const modules &) = delete;

    /// As foldsym_modules_add.
    std::int32_t add(const foldsym_module &module, const void *build_id, std::size_t len, std::uint32_t flags = 0) noexcept
    {
        return foldsym_modules_add(&table_, &module, build_id, len, flags);
    }

    /// The module of an address; null where there is none.
    const foldsym_module *find(std::uint64_t address, std::uint32_t kind = FOLDSYM_EXACT) const noexcept
    {
        return foldsym_module_find(&table_, address, kind);
    }

    /// Says which functions the frames of a stack may be; `resolved` has room for `count`.
    std::int32_t resolve(const foldsym_stack_entry *entries, foldsym_resolved *resolved, std::size_t count,
                         std::uint64_t vptr = 0) const noexcept
    {
        foldsym_stack stack = {};
        stack.size = sizeof stack;
        stack.entries = entries;
        stack.resolved = resolved;
        stack.resolved_size = sizeof *resolved;
        stack.count = count;
        stack.vptr = vptr;
        return foldsym_resolve_modules(&table_, &stack);
    }

    foldsym_modules *table() noexcept { return &table_; }
    const foldsym_modules *table() const noexcept { return &table_; }

    const foldsym_module *begin() const noexcept { return room_; }
    const foldsym_module *end() const noexcept { return room_ + table_.count; }

private:
    foldsym_modules table_;
    foldsym_module room_[Capacity] = {};
};

/// The frames at an address, innermost first. Has 3 KiB of memory in itself: make it static, or one for each thread.
class lookup {
public:
    /// Finds the frames at an address of a module; they are looped over until the next call. `resolved` is what
    /// modules::resolve said of this frame; `candidate` chooses among answer().candidate_count functions.
    std::int32_t operator()(const foldsym_module &module, const foldsym_stack_entry &entry,
                            const foldsym_resolved *resolved = nullptr, std::uint32_t candidate = 0) noexcept
    {
        foldsym_query query = {};
        query.size = sizeof query;
        query.resolved = resolved;
        query.address = entry.address;
        query.kind = entry.kind;
        query.load_bias = module.load_bias;
        query.candidate = candidate;
        answer_ = {};
        answer_.size = sizeof answer_;
        file_ = module.file;
        if (!file_)
            return module.status != FOLDSYM_OK ? module.status : FOLDSYM_NO_SYMBOLS;
        const std::int32_t status = foldsym_lookup(file_, &query, &frames_, &answer_);
        if (status != FOLDSYM_OK)
            answer_.frame_count = 0;
        return status;
    }

    /// What the last call found, besides the frames.
    const foldsym_answer &answer() const noexcept { return answer_; }

    /// Writes a frame's name, cut to `len` - 1 bytes, with a zero behind; gives its whole length, or FOLDSYM_BAD.
    std::size_t name(const foldsym_frame &frame, char *out, std::size_t len) const noexcept
    {
        return foldsym_write_name(file_, frame.name, out, len);
    }

    /// Writes the path of a frame's line, in the same way.
    std::size_t path(const foldsym_frame &frame, char *out, std::size_t len) const noexcept
    {
        return foldsym_write_path(file_, frame.file, out, len);
    }

    /// Goes over the frames; one at which the file is damaged ends the loop.
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = foldsym_frame;
        using difference_type = std::ptrdiff_t;
        using pointer = const foldsym_frame *;
        using reference = const foldsym_frame &;

        iterator(const lookup *of, std::uint32_t index) noexcept : of_(of), index_(index) { read(); }
        reference operator*() const noexcept { return frame_; }
        pointer operator->() const noexcept { return &frame_; }
        iterator &operator++() noexcept
        {
            index_++;
            read();
            return *this;
        }
        bool operator==(const iterator &other) const noexcept { return index_ == other.index_; }
        bool operator!=(const iterator &other) const noexcept { return index_ != other.index_; }

    private:
        void read() noexcept
        {
            frame_ = {};
            frame_.size = sizeof frame_;
            if (index_ < of_->answer_.frame_count &&
                foldsym_frame_at(of_->file_, &of_->frames_, index_, &frame_) != FOLDSYM_OK)
                index_ = of_->answer_.frame_count;
        }

        const lookup *of_;
        std::uint32_t index_;
        foldsym_frame frame_;
    };

    iterator begin() const noexcept { return iterator(this, 0); }
    iterator end() const noexcept { return iterator(this, answer_.frame_count); }

private:
    const foldsym_file *file_ = nullptr;
    foldsym_answer answer_ = {};
    foldsym_frames frames_ = {};
};

// ---- Tier 2: allocates. ----

/// A mapped file; empty until it is opened.
class map {
public:
    map() noexcept = default;
    map(map &&other) noexcept : map_(std::exchange(other.map_, nullptr)) {}
    map &operator=(map &&other) noexcept
    {
        std::swap(map_, other.map_);
        return *this;
    }
    ~map() { foldsym_map_close(map_); }

    /// Maps and opens a file, in place of the one that is open. On an error nothing is open.
    std::int32_t open(const char *path, foldsym_damage *damage = nullptr) noexcept
    {
        foldsym_map_close(std::exchange(map_, nullptr));
        return foldsym_map_open(path, &map_, damage);
    }

#ifdef FOLDSYM_HAS_EXCEPTIONS
    static map open_or_throw(const char *path)
    {
        map opened;
        if (const std::int32_t status = opened.open(path); status != FOLDSYM_OK)
            throw error(status);
        return opened;
    }
#endif

    /// The opened file, as long as this is there; null where nothing is open.
    const foldsym_file *file() const noexcept { return foldsym_map_file(map_); }
    explicit operator bool() const noexcept { return map_ != nullptr; }

private:
    foldsym_map *map_ = nullptr;
};

/// What is at many addresses, in their order, with all texts; empty until it is asked for.
class symbols {
public:
    symbols() noexcept = default;
    symbols(symbols &&other) noexcept : symbols_(std::exchange(other.symbols_, nullptr)) {}
    symbols &operator=(symbols &&other) noexcept
    {
        std::swap(symbols_, other.symbols_);
        return *this;
    }
    ~symbols() { foldsym_symbols_free(symbols_); }

    const foldsym_symbol *begin() const noexcept { return symbols_ ? symbols_->symbols : nullptr; }
    const foldsym_symbol *end() const noexcept { return begin() + size(); }
    std::size_t size() const noexcept { return symbols_ ? symbols_->count : 0; }
    /// Symbol `index`, which must be below size().
    const foldsym_symbol &operator[](std::size_t index) const noexcept { return symbols_->symbols[index]; }

    /// Asks about addresses of one file, in place of what is here.
    std::int32_t symbolize(const foldsym_file *file, view<std::uint64_t> addresses, std::uint64_t load_bias = 0,
                           std::uint32_t kind = FOLDSYM_EXACT, std::uint32_t flags = FOLDSYM_DEMANGLE) noexcept
    {
        foldsym_addresses wanted = {};
        wanted.size = sizeof wanted;
        wanted.addresses = addresses.begin();
        wanted.count = addresses.size();
        wanted.load_bias = load_bias;
        wanted.kind = kind;
        wanted.flags = flags;
        foldsym_symbols_free(std::exchange(symbols_, nullptr));
        return foldsym_symbolize(file, &wanted, &symbols_);
    }

    /// Asks about a stack over the modules of a table, innermost frame first, in place of what is here.
    std::int32_t symbolize(const foldsym_modules *table, view<foldsym_stack_entry> stack,
                           std::uint32_t flags = FOLDSYM_DEMANGLE, std::uint64_t vptr = 0) noexcept
    {
        foldsym_stack_request request = {};
        request.size = sizeof request;
        request.entries = stack.begin();
        request.count = stack.size();
        request.vptr = vptr;
        request.flags = flags;
        foldsym_symbols_free(std::exchange(symbols_, nullptr));
        return foldsym_symbolize_stack(table, &request, &symbols_);
    }

#ifdef FOLDSYM_HAS_EXCEPTIONS
    template <class... Arguments>
    static symbols of_or_throw(Arguments &&...arguments)
    {
        symbols made;
        if (const std::int32_t status = made.symbolize(std::forward<Arguments>(arguments)...); status != FOLDSYM_OK)
            throw error(status);
        return made;
    }
#endif

private:
    foldsym_symbols *symbols_ = nullptr;
};

/// The frames of a symbol, innermost first: of the likeliest function.
inline view<foldsym_text_frame> frames(const foldsym_symbol &symbol) noexcept { return {symbol.frames, symbol.frame_count}; }

/// The frames of a candidate.
inline view<foldsym_text_frame> frames(const foldsym_candidate &candidate) noexcept
{
    return {candidate.frames, candidate.frame_count};
}

/// The functions that may have run, where FOLDSYM_CANDIDATES asked for them.
inline view<foldsym_candidate> candidates(const foldsym_symbol &symbol) noexcept
{
    return {symbol.candidates, symbol.listed_count};
}

/// The other linkage names of a symbol's likeliest function, where FOLDSYM_ALIASES asked for them.
inline view<const char *> aliases(const foldsym_symbol &symbol) noexcept { return {symbol.aliases, symbol.alias_count}; }

/// Those of a candidate.
inline view<const char *> aliases(const foldsym_candidate &candidate) noexcept
{
    return {candidate.aliases, candidate.alias_count};
}

} // namespace foldsym

#endif
