// SPDX-License-Identifier: Apache-2.0
// persistent_map.hpp - an ordered map whose copy costs one pointer: copies share all nodes, and a change
// copies only the path to the changed leaf (a B+ tree, copy on write). It is what makes a snapshot of 100 000
// machines free. No Debian package has one (immer is not packaged); std::map under a shared_ptr would copy
// everything at each change. Thread rule: a map object belongs to one thread; copies of it may be read and
// changed in other threads.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace slipway {

template <class Key, class T>
class PersistentMap {
  struct Node;
  struct Leaf;
  struct Inner;
  using NodePtr = boost::intrusive_ptr<Node>;

 public:
  using value_type = std::pair<Key, T>;

  // In key order. Valid as long as the map object that gave it exists and is not changed.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = PersistentMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    Iterator() = default;
    reference operator*() const { return leaf_->entries[at_]; }
    pointer operator->() const { return &leaf_->entries[at_]; }
    Iterator& operator++() {
      if (++at_ == leaf_->entries.size()) go_to_next_leaf();
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator& other) const { return leaf_ == other.leaf_ && at_ == other.at_; }

   private:
    friend PersistentMap;
    struct Step {
      const Inner* node;
      std::size_t child;
    };

    void descend(const Node* node) {
      while (!node->is_leaf) {
        const auto* inner = static_cast<const Inner*>(node);
        path_[depth_++] = {inner, 0};
        node = inner->children.front().get();
      }
      leaf_ = static_cast<const Leaf*>(node);
      at_ = 0;
    }
    void go_to_next_leaf() {
      while (depth_ > 0) {
        Step& step = path_[depth_ - 1];
        if (++step.child < step.node->children.size()) {
          descend(step.node->children[step.child].get());
          return;
        }
        --depth_;
      }
      *this = Iterator();
    }

    std::array<Step, 12> path_{};  // 12 levels of at least 8 children: more than any memory holds
    std::size_t depth_ = 0;
    const Leaf* leaf_ = nullptr;
    std::size_t at_ = 0;
  };

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[nodiscard]] Iterator begin() const {
    Iterator it;
    if (size_ > 0) it.descend(root_.get());
    return it;
  }
  [[nodiscard]] Iterator end() const { return Iterator(); }

  // The first entry whose key is not below `key` (any type that compares with Key).
  template <class K>
  [[nodiscard]] Iterator lower_bound(const K& key) const {
    Iterator it;
    if (size_ == 0) return it;
    const Node* node = root_.get();
    while (!node->is_leaf) {
      const auto* inner = static_cast<const Inner*>(node);
      const std::size_t child = inner->child_for(key);
      it.path_[it.depth_++] = {inner, child};
      node = inner->children[child].get();
    }
    it.leaf_ = static_cast<const Leaf*>(node);
    it.at_ = it.leaf_->position(key);
    if (it.at_ == it.leaf_->entries.size()) it.go_to_next_leaf();
    return it;
  }

  // The value of the key, or nullptr.
  template <class K>
  [[nodiscard]] const T* find(const K& key) const {
    if (size_ == 0) return nullptr;
    const Node* node = root_.get();
    while (!node->is_leaf) {
      const auto* inner = static_cast<const Inner*>(node);
      node = inner->children[inner->child_for(key)].get();
    }
    const auto& entries = static_cast<const Leaf*>(node)->entries;
    const std::size_t at = static_cast<const Leaf*>(node)->position(key);
    return at < entries.size() && entries[at].first == key ? &entries[at].second : nullptr;
  }
  template <class K>
  [[nodiscard]] bool contains(const K& key) const {
    return find(key) != nullptr;
  }

  // Sets the value of the key. True if the key is new.
  bool put(const Key& key, T value) {
    if (!root_) root_ = new Leaf();
    bool is_new = false;
    if (NodePtr right = put_into(root_, key, std::move(value), is_new)) {
      auto* root = new Inner();
      root->firsts = {root_->first_key(), right->first_key()};
      root->children = {root_, std::move(right)};
      root_ = root;
    }
    if (is_new) ++size_;
    return is_new;
  }

  // True if the key was there.
  bool erase(const Key& key) {
    if (!contains(key)) return false;
    erase_from(root_, key);
    --size_;
    while (!root_->is_leaf && as_inner(root_).children.size() == 1) {
      NodePtr only = as_inner(root_).children.front();
      root_ = std::move(only);
    }
    return true;
  }

 private:
  static constexpr std::size_t kMax = 32;  // entries of a leaf, children of an inner node
  static constexpr std::size_t kMin = 8;   // below: joined with a neighbour where both fit into one

  struct Node {
    explicit Node(bool leaf) : is_leaf(leaf) {}
    Node(const Node& other) : is_leaf(other.is_leaf) {}  // a copy starts with no holder
    Node& operator=(const Node&) = delete;

    [[nodiscard]] const Key& first_key() const {
      return is_leaf ? static_cast<const Leaf*>(this)->entries.front().first
                     : static_cast<const Inner*>(this)->firsts.front();
    }
    [[nodiscard]] std::size_t count() const {
      return is_leaf ? static_cast<const Leaf*>(this)->entries.size()
                     : static_cast<const Inner*>(this)->children.size();
    }

    // Acquire: who sees itself as the only holder also sees what earlier holders did.
    [[nodiscard]] bool is_shared() const { return holders.load(std::memory_order_acquire) > 1; }
    friend void intrusive_ptr_add_ref(const Node* node) noexcept {
      node->holders.fetch_add(1, std::memory_order_relaxed);
    }
    friend void intrusive_ptr_release(const Node* node) noexcept {
      if (node->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      if (node->is_leaf) {
        delete static_cast<const Leaf*>(node);
      } else {
        delete static_cast<const Inner*>(node);
      }
    }

    mutable std::atomic<std::uint32_t> holders{0};
    const bool is_leaf;

   protected:
    ~Node() = default;
  };

  struct Leaf final : Node {
    Leaf() : Node(true) {}
    template <class K>
    [[nodiscard]] std::size_t position(const K& key) const {
      const auto at = std::lower_bound(entries.begin(), entries.end(), key,
                                       [](const value_type& entry, const K& k) { return entry.first < k; });
      return static_cast<std::size_t>(at - entries.begin());
    }
    std::vector<value_type> entries;
  };

  struct Inner final : Node {
    Inner() : Node(false) {}
    // The child that holds the key if any does: the last one that starts at or before it.
    template <class K>
    [[nodiscard]] std::size_t child_for(const K& key) const {
      const auto after =
          std::upper_bound(firsts.begin(), firsts.end(), key, [](const K& k, const Key& f) { return k < f; });
      return after == firsts.begin() ? 0 : static_cast<std::size_t>(after - firsts.begin()) - 1;
    }
    std::vector<Key> firsts;  // the smallest key below each child
    std::vector<NodePtr> children;
  };

  static Leaf& as_leaf(const NodePtr& node) { return static_cast<Leaf&>(*node); }
  static Inner& as_inner(const NodePtr& node) { return static_cast<Inner&>(*node); }

  // The node, ours alone to change: copied first if another map shares it.
  static Node& owned(NodePtr& node) {
    if (node->is_shared())
      node = node->is_leaf ? NodePtr(new Leaf(as_leaf(node))) : NodePtr(new Inner(as_inner(node)));
    return *node;
  }

  // Returns the right half when the node had to be split.
  static NodePtr put_into(NodePtr& node, const Key& key, T value, bool& is_new) {
    owned(node);
    if (node->is_leaf) {
      auto& entries = as_leaf(node).entries;
      const std::size_t at = as_leaf(node).position(key);
      is_new = at == entries.size() || !(entries[at].first == key);
      if (is_new) {
        entries.emplace(entries.begin() + static_cast<std::ptrdiff_t>(at), key, std::move(value));
      } else {
        entries[at].second = std::move(value);
      }
      return split_if_full(node, at + 1 == entries.size());
    }
    Inner& inner = as_inner(node);
    const std::size_t child = inner.child_for(key);
    NodePtr right = put_into(inner.children[child], key, std::move(value), is_new);
    if (is_new && child == 0) inner.firsts[0] = inner.children[0]->first_key();
    if (right) {
      const auto next = static_cast<std::ptrdiff_t>(child) + 1;
      inner.firsts.insert(inner.firsts.begin() + next, right->first_key());
      inner.children.insert(inner.children.begin() + next, std::move(right));
    }
    return split_if_full(node, child + 2 >= inner.children.size());
  }

  // At the end of the map the left half stays full: machines are added in the order of their ids.
  static NodePtr split_if_full(const NodePtr& node, bool at_end) {
    const std::size_t count = node->count();
    if (count <= kMax) return nullptr;
    const auto keep = static_cast<std::ptrdiff_t>(at_end ? count - kMin : count / 2);
    if (node->is_leaf) {
      auto* right = new Leaf();
      move_tail(as_leaf(node).entries, keep, right->entries);
      return right;
    }
    auto* right = new Inner();
    move_tail(as_inner(node).firsts, keep, right->firsts);
    move_tail(as_inner(node).children, keep, right->children);
    return right;
  }

  template <class E>
  static void move_tail(std::vector<E>& from, std::ptrdiff_t keep, std::vector<E>& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin() + keep), std::make_move_iterator(from.end()));
    from.erase(from.begin() + keep, from.end());
  }

  // The key is there. May leave the node empty; its parent then drops it.
  static void erase_from(NodePtr& node, const Key& key) {
    owned(node);
    if (node->is_leaf) {
      auto& entries = as_leaf(node).entries;
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(as_leaf(node).position(key)));
      return;
    }
    Inner& inner = as_inner(node);
    const std::size_t child = inner.child_for(key);
    erase_from(inner.children[child], key);
    if (inner.children[child]->count() == 0) {
      drop_child(inner, child);
      return;
    }
    inner.firsts[child] = inner.children[child]->first_key();
    if (inner.children[child]->count() < kMin) join_with_neighbour(inner, child);
  }

  static void drop_child(Inner& inner, std::size_t child) {
    inner.firsts.erase(inner.firsts.begin() + static_cast<std::ptrdiff_t>(child));
    inner.children.erase(inner.children.begin() + static_cast<std::ptrdiff_t>(child));
  }

  static void join_with_neighbour(Inner& inner, std::size_t child) {
    if (inner.children.size() < 2) return;
    const std::size_t left = child > 0 ? child - 1 : child;
    NodePtr& into = inner.children[left];
    NodePtr& from = inner.children[left + 1];
    if (into->count() + from->count() > kMax) return;
    owned(into);
    owned(from);
    if (into->is_leaf) {
      move_tail(as_leaf(from).entries, 0, as_leaf(into).entries);
    } else {
      move_tail(as_inner(from).firsts, 0, as_inner(into).firsts);
      move_tail(as_inner(from).children, 0, as_inner(into).children);
    }
    drop_child(inner, left + 1);
  }

  NodePtr root_;
  std::size_t size_ = 0;
};

}  // namespace slipway
